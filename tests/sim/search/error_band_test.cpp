#include "sim/search/error_band.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using pipewright::test::ScratchFolder;

namespace {

// A folder that takes precedence over the program's library of platform files.
class Library {
 public:
  explicit Library(const std::string& rows) {
    std::filesystem::create_directory(folder_ / "accuracy");
    std::ofstream(folder_ / "accuracy" / "iterations.csv")
        << "gpu,precision,model,rows,p5,p50,p95,compared_rows,scatter_percent\n"
        << rows;
    ::setenv("PIPEWRIGHT_PLATFORMS", folder_.path().c_str(), 1);
  }

 private:
  ScratchFolder folder_;
};

std::optional<analysis::ErrorBand> band(const std::string& more = "") {
  return search::error_band(
      config::read_yaml_text("model: llama-3-8b\ncluster: dgx-h100\nschedule: 1f1b\n"
                             "microbatches: 4\nparallel: {tp: 8}\n" +
                                 more,
                             "a test"),
      "h100-sxm");
}

}  // namespace

TEST_CASE("the error of a kind of run is that of similar measured runs", "[winner]") {
  const Library library(
      "any,bf16,dense,90,-5,1,7,80,3\n"
      "h100-sxm,bf16,dense,12,-4,2,6,10,2.5\n"
      "h100-sxm,fp8,dense,30,-1,2,3,25,9\n");
  const auto result = band();
  REQUIRE(result);
  CHECK(result->kind == "h100-sxm, bf16, dense");
  CHECK(result->rows == 12);
  CHECK(result->low == Approx(-0.04));
  CHECK(result->middle == Approx(0.02));
  CHECK(result->high == Approx(0.06));
  CHECK(result->scatter == Approx(0.025));
  CHECK(band("training: {precision: fp8}\n")->scatter == Approx(0.09));
}

TEST_CASE("where few similar runs were measured, runs on other GPUs define the error", "[winner]") {
  const Library library(
      "any,any,dense,200,-9,1,9,150,5\n"
      "any,bf16,dense,10,-5,1,7,8,3\n"
      "h100-sxm,bf16,dense,9,-4,2,6,7,2.5\n");
  CHECK(band()->kind == "any, bf16, dense");
  CHECK(band("training: {precision: fp8}\n")->kind == "any, any, dense");
}

TEST_CASE("without a scatter there is no error band", "[winner]") {
  const Library library("any,any,dense,200,-9,1,9,0,\n");
  CHECK_FALSE(band());
}
