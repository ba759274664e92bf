#include "sim/evaluation/expected_error.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "sim/config/text/error.hpp"
#include "support/coverage.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using evaluation::expected_error;
using evaluation::MeasuredRuns;
using evaluation::RunKind;

namespace {

RunKind h100_kind() {
  return {.gpu = "h100-sxm",
          .architecture = "Hopper",
          .precision = "bf16",
          .bits = 16,
          .stack = "nemo-2",
          .family = "megatron",
          .sequence_range = 1};
}

// Runs whose errors spread evenly from `low` to `high`, which are measured / predicted - 1.
MeasuredRuns runs_of(const std::string& source, const RunKind& kind, double low, double high,
                     std::uint64_t rows = 11) {
  MeasuredRuns runs{.source = source, .kind = kind, .rows = rows, .errors = {}};
  for (std::uint64_t i = 0; i < rows; ++i)
    runs.errors.push_back(
        std::log1p(std::lerp(low, high, static_cast<double>(i) / static_cast<double>(rows - 1))));
  return runs;
}

}  // namespace

TEST_CASE("the expected error has the quantiles of runs of the same kind, widened by sources",
          "[error]") {
  RunKind other = h100_kind();
  other.gpu = "h200";
  const std::vector<MeasuredRuns> runs{runs_of("a", h100_kind(), -0.02, 0.02),
                                       runs_of("b", h100_kind(), -0.02, 0.02),
                                       runs_of("c", other, 0.3, 0.5)};
  const trace::ExpectedError error = expected_error(h100_kind(), runs);
  CHECK(error.rows == 22);
  CHECK(error.nominal == 0.9);
  CHECK(error.median == Approx(0).margin(1e-3));
  // 12 % divided by two sources are added to quantiles near 2 %.
  CHECK(error.low == Approx(-0.076).margin(0.003));
  CHECK(error.high == Approx(0.082).margin(0.003));
  CHECK(error.basis == "h100-sxm, bf16, dense, nemo-2, 1,025 to 16,384 tokens");
}

TEST_CASE("runs of a single source never make the expected error alone", "[error]") {
  RunKind other_stack = h100_kind();
  other_stack.stack = "megatron-core";
  const std::vector<MeasuredRuns> runs{runs_of("a", h100_kind(), 0, 0.01, 1000),
                                       runs_of("b", other_stack, 0.2, 0.21)};
  const trace::ExpectedError error = expected_error(h100_kind(), runs);
  CHECK(error.rows == 1011);
  CHECK(error.high > 0.2);
  CHECK(error.basis == "h100-sxm, bf16, dense, megatron stacks");
}

TEST_CASE("attributes are given up until runs are near, and each widens the error", "[error]") {
  RunKind blackwell = h100_kind();
  blackwell.gpu = "b200";
  blackwell.architecture = "Blackwell";
  const std::vector<MeasuredRuns> runs{runs_of("a", blackwell, -0.01, 0.01),
                                       runs_of("b", blackwell, -0.01, 0.01)};
  const trace::ExpectedError near = expected_error(blackwell, runs);
  const trace::ExpectedError far = expected_error(h100_kind(), runs);
  // Eight attributes, and the last one is the architecture.
  CHECK(far.high - far.low == Approx(near.high - near.low + 2 * (0.08 + 0.10)).margin(0.01));
  CHECK(far.basis ==
        "few or no measured runs are like this one; any GPU, any data type, dense, any stack");
}

TEST_CASE("assumed numbers widen the error of a GPU that nobody measured", "[error]") {
  RunKind h200 = h100_kind();
  h200.gpu = "h200";
  const std::vector<MeasuredRuns> runs{runs_of("a", h100_kind(), -0.01, 0.01),
                                       runs_of("b", h100_kind(), -0.01, 0.01)};
  const trace::ExpectedError sourced = expected_error(h200, runs);
  const trace::ExpectedError assumed = expected_error(h200, runs, 0.5);
  CHECK(assumed.high - sourced.high == Approx(0.05).margin(0.01));
  CHECK_THAT(assumed.basis,
             Catch::StartsWith("Hopper GPUs, 16 bits, dense, megatron stacks; 50 %"));
  CHECK(expected_error(h100_kind(), runs, 0.5) == expected_error(h100_kind(), runs));
}

TEST_CASE("a run without a model and a library without runs have no expected error", "[error]") {
  CHECK(expected_error({}, std::vector{runs_of("a", h100_kind(), 0, 1)}).rows == 0);
  CHECK(expected_error(h100_kind(), {}).rows == 0);
}

TEST_CASE("85 to 95 % of the runs of a source lie within what all other sources give", "[error]") {
  const auto coverage = tests::left_out_coverage(evaluation::read_measured_runs());
  REQUIRE(coverage.size() > 20);
  CHECK(tests::row_share(coverage) > 0.85);
  CHECK(tests::row_share(coverage) < 0.95);
  CHECK(tests::mean_share(coverage) > 0.85);
  CHECK(tests::mean_share(coverage) < 0.95);
}

TEST_CASE("a damaged line of the measured runs is an error with its place", "[error]") {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder / "accuracy");
  const std::vector<MeasuredRuns> runs{runs_of("a", h100_kind(), -0.02, 0.02)};
  const std::string text = evaluation::to_csv(runs);
  const auto error_after = [&](const std::string& line) {
    std::ofstream(folder / "accuracy" / "iterations.csv") << text << line;
    ::setenv("PIPEWRIGHT_PLATFORMS", folder.path().c_str(), 1);
    std::string message;
    try {
      message = std::to_string(evaluation::read_measured_runs().size());
    } catch (const config::Error& error) {
      message = error.what();
    }
    ::unsetenv("PIPEWRIGHT_PLATFORMS");
    return message;
  };
  CHECK(error_after("") == "1");
  CHECK_THAT(error_after("a,b\n"),
             Catch::Contains("iterations.csv:3: ") && Catch::Contains("2 columns instead of 14"));
  CHECK_THAT(error_after("a,g,h,bf16,x,s,f,dense,gpu-bound,1,1,0,0.00,1.0\n"),
             Catch::Contains("'x' is not a number"));
  CHECK_THAT(error_after("a,g,h,bf16,16,s,f,dense,gpu-bound,9,1,0,0.00,1.0\n"),
             Catch::Contains("9 is not a range of sequences"));
}
