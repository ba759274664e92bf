#include "sim/workload/kernel_table/table_checks.hpp"

#include <catch2/catch.hpp>

#include "support/program.hpp"

using namespace pipewright;

namespace {

// Checks a table against an H100, which multiplies at 989.5 TFLOP/s, twice as fast in fp8, and
// moves 3.35 TB/s.
std::string fault_of(const std::string& text) {
  const tests::CommandFolder place;
  place.write("t.csv", "kernel,dtype,m,n,k,bytes,pass,heads,head_dim,sequence,time_us\n" + text);
  try {
    check_table(workload::read_kernel_table(place.folder() / "t.csv"),
                config::find_gpu("h100-sxm"));
  } catch (const config::Error& error) {
    const std::string message = error.what();
    return message.substr(message.find("t.csv"));
  }
  return "";
}

}  // namespace

TEST_CASE("a row is not faster than the GPU, nor a thousand times slower", "[model]") {
  // 2 x 8192^3 FLOP take 1,111 us at the peak rate.
  CHECK(fault_of("product,bf16,8192,8192,8192,,,,,,1400\n").empty());
  CHECK(fault_of("product,bf16,8192,8192,8192,,,,,,1000\n").empty());  // with a boosted clock
  CHECK(fault_of("product,bf16,8192,8192,8192,,,,,,1400\nproduct,bf16,8192,8192,8192,,,,,,1.4\n") ==
        "t.csv:3: product bf16 of 8192 x 8192 x 8192 in 1.4 us is faster than the GPU's peak "
        "allows (1111 us); is time_us in microseconds, and is h100-sxm the GPU?");
  CHECK(fault_of("product,fp8,8192,8192,8192,,,,,,600\n").empty());
  CHECK_THAT(fault_of("product,fp8,8192,8192,8192,,,,,,300\n"), Catch::Contains("t.csv:2: "));
  CHECK_THAT(fault_of("product,bf16,8192,8192,8192,,,,,,1e12\n"),
             Catch::Contains("t.csv:2: ") && Catch::Contains("times the time at"));
  CHECK(fault_of("product,bf16,16,16,16,,,,,,900\n").empty());  // it may consist of overhead
  // Half of 4 x 32 heads x 128 x 8192^2 FLOP, as attention is causal, take 1,111 us at the peak
  // rate.
  CHECK(fault_of("attention,bf16,,,,,forward,32,128,8192,2500\n").empty());
  CHECK_THAT(fault_of("attention,bf16,,,,,forward,32,128,8192,2.5\n"),
             Catch::Contains("attention forward of 8192 tokens"));
  // 32 MB take 10 us from memory, but a cache may hold them, so 5 us is possible.
  CHECK(fault_of("memory,,,,,33554432,,,,,5\n").empty());
  CHECK_THAT(fault_of("memory,,,,,33554432,,,,,0.01\n"), Catch::Contains("memory of 33.55 MB"));
}

TEST_CASE("a data type that the GPU lacks is reported with its line", "[model]") {
  CHECK_THAT(
      fault_of("product,bf16,8192,8192,8192,,,,,,1400\nproduct,nvfp4,8,8,8,,,,,,9\n"),
      Catch::StartsWith("t.csv:3: the GPU 'h100-sxm' has no nvfp4 products; allowed: bf16") &&
          Catch::EndsWith("select another --gpu-file or remove the row"));
}

TEST_CASE("a table without any kernel that a GPU file describes is rejected", "[model]") {
  CHECK_THAT(
      fault_of("all-reduce,,,,,1024,,,,,30\nlaunch,,,,,,,,,,7\n"),
      Catch::StartsWith("t.csv: no row of a kind that a GPU file describes; allowed: product"));
}
