#include <cmath>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using pipewright::tests::CommandFolder;
using pipewright::tests::ProgramResult;
using Json = nlohmann::json;

namespace {

// Returns a table of products in full waves of 132 tiles. They reach 0.75 of an H100's 989.5
// TFLOP/s, after an overhead of 5 us.
std::string table() {
  std::string text = "kernel,dtype,m,n,k,time_us\n";
  for (int waves = 1; waves <= 8; waves *= 2)
    for (const int inner : {1024, 4096, 16384}) {
      const int rows = 11 * 128 * waves;
      const int columns = 12 * 128;
      text += fmt::format("product,bf16,{},{},{},{:.4f}\n", rows, columns, inner,
                          5 + 1e6 * 2.0 * rows * columns * inner / (0.75 * 989.5e12));
    }
  return text;
}

// Numbers of a data sheet.
const std::string sheet =
    "flops: 2250 TFLOP/s\nmemory: 180 GiB\nmemory_bandwidth: 7700 GB/s\nprocessors: 148\n"
    "power: {compute: 1000 W}\nproducts: {fp8: {flops: 4500 TFLOP/s}}\n";

}  // namespace

TEST_CASE("gpu derive writes a file that names the GPU of each number", "[cli]") {
  const CommandFolder folder;
  folder.write("next.yaml", sheet);
  const ProgramResult derived =
      folder.run("gpu derive next.yaml --like h100-sxm -o mine.yaml --json");
  INFO(derived.err);
  REQUIRE(derived.status == 0);
  const Json report = Json::parse(derived.out);
  CHECK(report["gpu"] == "next");
  CHECK(report["like"] == "h100-sxm");
  for (const Json& row : report["derived"]) {
    CHECK(row["source"] == "h100-sxm");
    if (row["key"] == "products.fp8.efficiency") CHECK(row["value"] == "0.803");
    CHECK(row["key"] != "flops");
  }
  CHECK_THAT(folder.read("mine.yaml"), Catch::Contains("derived:\n  h100-sxm:") &&
                                           Catch::Contains("efficiency: 0.836") &&
                                           !Catch::Contains("like"));
  CHECK_THAT(folder.run("gpu derive next.yaml --like h100-sxm").out,
             Catch::Contains("products.bf16.efficiency"));
  // The file, and the sheet with the key `like`, predict the same times.
  folder.write("like.yaml", "like: h100-sxm\n" + sheet);
  const auto times = [&](const std::string& gpu) {
    return Json::parse(folder.run("model llama-3-8b --json --gpu ./" + gpu).out);
  };
  CHECK(times("mine.yaml")["times"] == times("like.yaml")["times"]);
  CHECK(times("mine.yaml")["derived"] == times("like.yaml")["derived"]);
  CHECK(times("mine.yaml")["derived"].front()["source"] == "h100-sxm");
  CHECK_THAT(folder.run("model llama-3-8b --gpu ./mine.yaml").out,
             Catch::Contains("~ depends on values of next (derived from h100-sxm) that are "
                             "assumed, not sourced: "));
}

TEST_CASE("gpu derive takes the nearest GPU unless one is named", "[cli]") {
  const CommandFolder folder;
  folder.write("next.yaml", sheet + "like: h200\n");
  CHECK(Json::parse(folder.run("gpu derive next.yaml --json").out)["like"] == "h200");
  CHECK(Json::parse(folder.run("gpu derive next.yaml --like b200 --json").out)["like"] == "b200");
  folder.write("mi999.yaml", sheet);
  CHECK(Json::parse(folder.run("gpu derive mi999.yaml --json").out)["like"] == "mi300x");
}

TEST_CASE("gpu derive refuses sheets without the numbers of the maker", "[cli]") {
  const CommandFolder folder;
  folder.write("next.yaml", sheet);
  folder.write("slow.yaml", "memory: 180 GiB\nmemory_bandwidth: 7700 GB/s\n");
  const ProgramResult slow = folder.run("gpu derive slow.yaml --like b200");
  CHECK(slow.status == 2);
  CHECK_THAT(slow.err, Catch::Contains("slow.yaml") && Catch::Contains("flops is missing: dense "
                                                                       "FLOP/s in bf16"));
  CHECK_THAT(folder.run("gpu derive next.yaml --like b20").err,
             Catch::Contains("'b20' is not among the gpus") && Catch::Contains("b200"));
  folder.write("known.yaml", sheet + "kernel_overhead: 3 us\n");
  CHECK_THAT(folder.run("gpu derive known.yaml").err, Catch::Contains("gpu derive needs --like"));
  CHECK_THAT(folder.run("gpu derive next.yaml --like b200 -o next.yaml").err,
             Catch::Contains("next.yaml"));
  CHECK(folder.read("next.yaml") == sheet);
  CHECK_THAT(folder.run("gpu derive next.yaml -o next.txt").err,
             Catch::Contains("a GPU file ends in .yaml"));
  CHECK_THAT(folder.run("gpu derive").err, Catch::Contains("data sheet"));
}

TEST_CASE("gpu fit writes a file with which gpu check finds no error", "[cli]") {
  const CommandFolder folder;
  folder.write("t.csv", table());
  const ProgramResult fit = folder.run("gpu fit t.csv --gpu-file h100-sxm --out mine.yaml --json");
  INFO(fit.err);
  REQUIRE(fit.status == 0);
  const Json report = Json::parse(fit.out);
  CHECK(report["keys"][0]["key"] == "products.bf16.efficiency");
  CHECK(report["groups"][0]["left_out_median_error"] < 0.01);
  const std::string file = folder.read("mine.yaml");
  CHECK_THAT(file, Catch::StartsWith("# Fitted by pipewright ") &&
                       Catch::Contains("product bf16, 12 rows") &&
                       Catch::Contains("free_memory: 79.1 GiB"));
  const ProgramResult check = folder.run("gpu check t.csv --gpu-file ./mine.yaml --json");
  INFO(check.err);
  REQUIRE(check.status == 0);
  CHECK(Json::parse(check.out)["groups"][0]["largest_error"] < 0.02);
  CHECK(Json::parse(check.out)["worst"].size() == 5);
}

TEST_CASE("gpu fit determines the rates of grouped products, which are no longer assumed",
          "[cli]") {
  const CommandFolder folder;
  // 4 products x 33 tiles of 128 columns occupy all 132 SMs, so a wave covers 128 rows. Times
  // assume half of 989.5 TFLOP/s, 2 us per wave and 10 us per kernel.
  std::string table = "kernel,dtype,m,n,k,count,time_us\n";
  for (const int waves : {8, 16, 32})
    for (const int inner : {1024, 4096, 8192})
      table += fmt::format("grouped,bf16,{},4224,{},4,{}\n", 128 * waves, inner,
                           10 + waves * (2.0 * 128 * 128 * inner * 132 / 494.75e6 + 2));
  folder.write("t.csv", table);
  folder.write("base.yaml",
               "flops: 989.5 TFLOP/s\nmemory: 80 GiB\nmemory_bandwidth: 3350 GB/s\n"
               "processors: 132\nassumed: [products.bf16.grouped]\n");
  const ProgramResult fit = folder.run("gpu fit t.csv --gpu-file ./base.yaml -o mine.yaml --json");
  INFO(fit.err);
  REQUIRE(fit.status == 0);
  CHECK(Json::parse(fit.out)["groups"][0]["kernels"] == "grouped bf16");
  CHECK_THAT(folder.read("mine.yaml"),
             Catch::Contains("grouped:\n") && Catch::Contains("efficiency: 0.500") &&
                 Catch::Contains("wave: 2 us") && Catch::Contains("overhead: 10 us") &&
                 !Catch::Contains("assumed"));
  const ProgramResult check = folder.run("gpu check t.csv --gpu-file ./mine.yaml --json");
  CHECK(Json::parse(check.out)["groups"][0]["largest_error"] < 1e-3);
}

TEST_CASE("gpu check shows errors by kind and the rows with the largest errors", "[cli]") {
  const CommandFolder folder;
  folder.write("t.csv", table());
  const ProgramResult ran =
      folder.run("gpu check t.csv --gpu-file h100-sxm --worst 2 --max-error 1%");
  CHECK(ran.status == 1);
  CHECK_THAT(ran.out, Catch::Contains("t.csv against h100-sxm") &&
                          Catch::Contains("product bf16    12") &&
                          Catch::Contains("largest errors"));
  CHECK_THAT(ran.err, Catch::Contains("the median error of product bf16 is"));
}

TEST_CASE("errors of gpu commands name the fault and its location", "[cli]") {
  const CommandFolder folder;
  folder.write("t.csv", "dtype,m,n,k,time_us\nbf16,1,2,3,-4\n");
  const ProgramResult negative = folder.run("gpu fit t.csv --gpu-file h100-sxm");
  CHECK(negative.status == 2);
  CHECK_THAT(negative.err, Catch::Contains("t.csv:2: time_us is -4; allowed: a number above 0"));
  CHECK_THAT(folder.run("gpu check t.csv").err, Catch::Contains("gpu check needs --gpu-file"));
  CHECK_THAT(folder.run("gpu check t.csv --gpu-file h10").err, Catch::Contains("h100-sxm"));
  CHECK_THAT(folder.run("gpu fit t.csv --gpu-file b200 -o t.txt").err,
             Catch::Contains("a GPU file ends in .yaml"));
  CHECK_THAT(folder.run("gpu fit --help").out, Catch::Contains("pipewright gpu fit my-gpu.csv"));
  CHECK(folder.files() == "t.csv");
}
