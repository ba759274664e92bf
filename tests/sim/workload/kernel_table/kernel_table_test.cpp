#include "sim/workload/kernel_table/kernel_table.hpp"

#include <fstream>

#include <catch2/catch.hpp>

#include "support/program.hpp"

using namespace pipewright;
using tests::CommandFolder;
using workload::read_kernel_table;

namespace {

std::string fault_of(const std::string& text, const std::optional<std::string>& system = {}) {
  const CommandFolder place;
  place.write("t.csv", text);
  try {
    read_kernel_table(place.folder() / "t.csv", system);
  } catch (const config::Error& error) {
    const std::string message = error.what();
    return message.substr(message.find("t.csv"));
  }
  return "";
}

const std::string products = "kernel,dtype,m,n,k,time_us\n";

}  // namespace

TEST_CASE("a table of kernels is read by the names of its columns", "[model]") {
  const CommandFolder place;
  place.write(
      "t.csv",
      "# a comment\n"
      "time_us,kernel,dtype,m,n,k,count,cast,bytes,note,heads,head_dim,sequence,pass,causal\n"
      "12.5,product,fp8,100,200,300,,1\n"
      "7,grouped,bf16,10,20,30,4\n"
      "3,cast,nvfp4,64,,32\n"
      "80,attention,,,,,,,,,8,128,1000,backward,0\n"
      "9,memory,,,,,,,1000\n"
      "5,launch,,,,,,,,graph\n");
  const auto rows = read_kernel_table(place.folder() / "t.csv").rows;
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].seconds == Approx(12.5e-6));
  CHECK(rows[0].line == 3);
  CHECK(rows[0].casts == 100 * 300);
  CHECK(rows[0].kernel.flops == 2.0 * 100 * 200 * 300);
  CHECK(rows[0].kernel.bytes == 300 * (100 + 200) + 2 * 100 * 200);
  CHECK(rows[1].kernel.flops == 4 * 2.0 * 10 * 20 * 30);
  CHECK(rows[1].casts == 0);
  CHECK(rows[2].casts == 64 * 32);
  // The backward pass of attention has five products over all pairs of queries and keys.
  CHECK(rows[3].kernel.flops == 10.0 * 8 * 128 * 1000 * 1000);
  CHECK(rows[3].kernel.keys == 1000);
  CHECK(rows[4].kernel.bytes == 1000);
  CHECK(group_of(rows[0]) == "product fp8");
  CHECK(group_of(rows[3]) == "attention backward");
  CHECK(depends_on_gpu_file(rows[4]));
  CHECK_FALSE(depends_on_gpu_file(rows[5]));  // the key `launch` is more than a single launch
}

TEST_CASE("a row of a layer's experts contains all kernels of one GPU", "[model]") {
  const CommandFolder place;
  place.write("t.csv",
              "kernel,dtype,tokens,hidden,inter,topk,experts,moe_ep,gated,time_us\n"
              "experts,bfloat16,1000,10,20,4,8,2,,50\n"
              "experts,fp8,1000,10,20,4,8,1,0,50\n"
              "experts,fp8_block,1000,10,20,4,8,,,50\n");
  const auto rows = read_kernel_table(place.folder() / "t.csv").rows;
  REQUIRE(rows.size() == 3);
  // The GPU has 4 of 8 experts and gets 2,000 of 4,000 token visits, 500 per expert. An expert's
  // products are 10 x 40 and 20 x 10.
  const workload::MeasuredKernel& row = rows[0];
  CHECK(group_of(row) == "experts bf16");
  CHECK(row.kernel.flops == 4 * 2.0 * 500 * 10 * 40);
  CHECK(row.kernel.bytes == 4 * 2.0 * (10 * 500 + 10 * 40 + 500 * 40));
  REQUIRE(row.extra_kernels.size() == 4);
  CHECK(row.extra_kernels[0].work == workload::Kernel::Work::grouped);
  CHECK(row.extra_kernels[0].flops == 4 * 2.0 * 500 * 20 * 10);
  CHECK(row.extra_kernels[1].bytes == 2 * 2.0 * 2000 * 10);                // sorted
  CHECK(row.extra_kernels[2].bytes == 2.0 * 2000 * (20 + 20 + 20));        // activation
  CHECK(row.extra_kernels[3].bytes == 2.0 * 2000 * 10 + 2.0 * 1000 * 10);  // added up
  CHECK(row.casts == 0);
  // With one scale per tensor, tokens are cast before they are permuted. The experts of this row
  // have no gates.
  CHECK(rows[1].extra_kernels.size() == 5);
  CHECK(rows[1].extra_kernels[1].bytes == 2.0 * 4000 * 10);
  CHECK(rows[1].extra_kernels[2].bytes == 3.0 * 4000 * 20);
  CHECK(rows[1].extra_kernels[4].bytes == 3.0 * 1000 * 10);
  CHECK(rows[1].casts == 4000 * 10);
  CHECK(rows[2].extra_kernels[1].bytes == 4.0 * 4000 * 10);

  config::Gpu gpu{.name = "made up", .flops = 1e12, .memory = 1, .memory_bandwidth = 1e300};
  gpu.processors = 1;
  gpu.kernel_overhead = 1e-6;
  gpu.products.fp8 = config::Products{.flops = 1e300};
  gpu.products.fp8->grouped =
      config::GroupedProducts{.efficiency = 1, .wave = 0, .overhead = 1e-3, .cast = 2};
  CHECK(predicted_seconds(rows[1], gpu) == Approx(2e-3 + 4e-6));
  gpu.memory_bandwidth = 1e6;
  gpu.memory_efficiency = 1;
  gpu.products.fp8->grouped->overhead = 0;
  gpu.kernel_overhead = 0;
  const double moved = 4000 * (2 * 10 + 3 * 20 + 2 * 10) + 1000 * 10 * (2 + 3);
  const double products =
      8 * (10 * 500 + 10 * 20 + 2 * 500 * 20) + 8 * (20 * 500 + 20 * 10 + 2 * 500 * 10);
  CHECK(predicted_seconds(rows[1], gpu) == Approx((moved + products + 2 * 4000 * 10) / 1e6));
}

TEST_CASE("a table without a column kernel has products, in 8 bits with their casts", "[model]") {
  const CommandFolder place;
  place.write("t.csv",
              "system,dtype,m,n,k,time_us\n"
              "a,fp8_block,2,3,4,1\n"
              "b,bfloat16,2,3,4,1\n");
  const auto rows = read_kernel_table(place.folder() / "t.csv", "a").rows;
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].casts == 2 * 4);
  CHECK(rows[0].kernel.type == config::DataType::fp8_block);
}

TEST_CASE("an error in a table names its line and what is allowed", "[model]") {
  CHECK(fault_of("kernel,dtype,m,n,k\n").starts_with("t.csv:1: no column time_us; the table has"));
  CHECK(fault_of("dtype,m,n,time_us\n").starts_with("t.csv:1: no column k"));
  CHECK(fault_of(products + "product,bf16,1,2,3,-4\n") ==
        "t.csv:2: time_us is -4; allowed: a number above 0");
  CHECK(fault_of(products + "product,bf16,1,2,3,4\nproduct,bf16,1,2,,4\n") ==
        "t.csv:3: k is missing");
  CHECK(fault_of(products + "product,bf16,4096.5,2,3,4\n") ==
        "t.csv:2: m is 4096.5; allowed: a whole number");
  CHECK_THAT(fault_of("kind,dtype,m,n,k,time_us\nmemory,,,,,5\n"),
             Catch::Contains("t.csv:2: dtype is missing: without a column kernel, all rows are "
                             "products"));
  CHECK(fault_of("kernel,dtypes,m,n,k,time_us\n") ==
        "t.csv:1: unknown column 'dtypes'; did you mean 'dtype'?");
  CHECK(fault_of("dtype,m,n,k,time_us\nbf16,1,2,3,4\n", "a") ==
        "t.csv: no column system, by which --system a selects rows; omit the option");
  CHECK_THAT(fault_of(products + "product,fp9,1,2,3,4\n"),
             Catch::StartsWith("t.csv:2: dtype is the text 'fp9'") && Catch::Contains("fp8-block"));
  CHECK_THAT(fault_of(products + "prodct,bf16,1,2,3,4\n"),
             Catch::Contains("did you mean 'product'?"));
  CHECK_THAT(fault_of(products + "cast,bf16,1,,3,4\n"), Catch::Contains("a cast cannot be to 16"));
  CHECK_THAT(fault_of(products + "product,bf16,1,2,3,4,5\n"),
             Catch::Contains("the line has 7 cells, but the table has 6 columns"));
  CHECK(fault_of("kernel,dtype,tokens,hidden,inter,topk,experts,moe_ep,time_us\n"
                 "experts,bf16,64,8,8,2,8,16,5\n") ==
        "t.csv:2: moe_ep is 16; allowed: at most the 8 experts");
  CHECK(fault_of(products) == "t.csv: no rows");
  CHECK(fault_of("# nothing\n") == "t.csv: the file has no line of column names");
  const std::string two_systems = "system,dtype,m,n,k,time_us\na,bf16,1,2,3,4\nb,bf16,1,2,3,4\n";
  CHECK(fault_of(two_systems) ==
        "t.csv: the rows are of several systems, a, b; select one with --system");
  CHECK(fault_of(two_systems, "c") ==
        "t.csv: the rows are of several systems, a, b; select one with --system");
}
