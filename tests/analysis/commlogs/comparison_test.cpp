#include "analysis/commlogs/comparison.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/compared.hpp"

namespace pipewright::analysis {
namespace {

ComparedRow row(std::uint64_t bytes, double measured, double predicted) {
  ComparedRow compared;
  compared.measured.bytes = bytes;
  compared.measured.seconds = measured;
  compared.measured.ranks = 8;
  compared.measured.file = "a.log";
  compared.predicted = predicted;
  return compared;
}

// Returns an all-reduce whose measured bus bandwidth is `measured` GB/s and whose predicted bus
// bandwidth is half of that.
ComparedRow with_bandwidth(std::uint64_t bytes, double measured) {
  const double us =
      static_cast<double>(bytes) * bus_factor(Operation::all_reduce, 16) / (measured * 1e9) * 1e6;
  return test::compared(bytes, us, 2 * us);
}

}  // namespace

TEST_CASE("the error of a prediction that is too slow is positive") {
  CHECK(row(8, 2, 3).error() == Approx(0.5));
  CHECK(row(8, 2, 1).error() == Approx(-0.5));
}

TEST_CASE("errors are summarized by absolute value, and the bias by signed value") {
  std::vector<ComparedRow> rows;
  for (int i = 1; i <= 10; ++i) rows.push_back(row(8, 1, i % 2 == 0 ? 1 + i * 0.01 : 1 - i * 0.01));
  const ErrorSummary summary = summarize(rows);
  CHECK(summary.rows == 10);
  CHECK(summary.median == Approx(0.055));
  CHECK(summary.p90 == Approx(0.091));  // A tenth of the way from the 9th to the 10th.
  CHECK(summary.largest == Approx(0.10));
  CHECK(summary.bias == Approx(0.005));  // Between -0.01 and 0.02.
}

TEST_CASE("the summary of no rows has no errors") {
  CHECK(summarize({}).rows == 0);
  CHECK(summarize({}).largest == 0);
  CHECK(group_into_curves({}).empty());
  CHECK(errors_by_size({}).empty());
}

TEST_CASE("rows of one operation and placement form a curve, sorted by bytes") {
  std::vector<ComparedRow> rows{row(64, 1, 1), row(8, 1, 1), row(8, 2, 1), row(16, 1, 1)};
  rows[3].measured.in_place = true;
  const auto curves = group_into_curves(rows);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].name == "all-reduce, 8 ranks");
  REQUIRE(curves[0].rows.size() == 3);
  CHECK(curves[0].rows[0].measured.seconds == 1);  // Rows of equal bytes keep their order.
  CHECK(curves[0].rows[1].measured.seconds == 2);
  CHECK(curves[0].rows[2].measured.bytes == 64);
  CHECK(curves[1].name == "all-reduce, 8 ranks, in place");
}

TEST_CASE("curves with equal names are distinguished by their files") {
  std::vector<ComparedRow> rows{row(8, 1, 1), row(8, 1, 1), row(8, 1, 1)};
  rows[0].measured.nodes = rows[1].measured.nodes = 2;
  rows[1].measured.file = "b\x1b[31m.log";
  rows[2].measured.nodes = 1;
  const auto curves = group_into_curves(rows);
  REQUIRE(curves.size() == 3);
  CHECK(curves[0].name == "all-reduce, 8 ranks on 2 nodes (a.log)");
  CHECK(curves[1].name.find("all-reduce, 8 ranks on 2 nodes (b") == 0);
  CHECK(curves[1].name.find('\x1b') == std::string::npos);
  CHECK(curves[2].name == "all-reduce, 8 ranks on 1 node");
}

TEST_CASE("each row is in one size range, and ranges without rows are left out") {
  const std::vector<ComparedRow> rows{row(8, 1, 1.1), row(1 << 16, 1, 1.3),
                                      row((1 << 16) + 1, 1, 1), row(1 << 28, 1, 1),
                                      row((1ULL << 28U) + 1, 1, 2)};
  const auto ranges = errors_by_size(rows);
  REQUIRE(ranges.size() == 4);
  CHECK(ranges[0].name == "up to 64 KiB");
  CHECK(ranges[0].errors.rows == 2);
  CHECK(ranges[0].errors.median == Approx(0.2));
  CHECK(ranges[1].name == "64 KiB to 1 MiB");
  CHECK(ranges[2].name == "16 MiB to 256 MiB");
  CHECK(ranges[3].name == "above 256 MiB");
  CHECK(ranges[3].errors.largest == Approx(1));
}

TEST_CASE("the bus bandwidth of a row is that of nccl-tests", "[comm]") {
  // An all-reduce of 128 MiB in 2 ms has an algorithm bandwidth of 67.1 GB/s. The bus bandwidth of
  // 16 ranks is 2 * 15 / 16 times that.
  CHECK(bus_bandwidth(test::compared(1 << 27, 2000, 1).measured, 2e-3) ==
        Approx(134217728 / 2e-3 * 1.875));
}

TEST_CASE("deviations of an assumed bandwidth form ranges of sizes, each to one side", "[comm]") {
  ComparedCurve curve{"curve", {}};
  const double measured[]{10, 50, 91, 109, 112, 200, 100};
  for (std::size_t i = 0; i < 7; ++i)
    curve.rows.push_back(with_bandwidth(std::uint64_t{1} << (10 + i), measured[i]));
  const AssumptionCheck check = check_assumption(curve, 100e9);
  REQUIRE(check.measured.size() == 2);
  CHECK(check.measured[0].from == 1 << 10);
  CHECK(check.measured[0].to == 1 << 11);
  CHECK(check.measured[0].rows == 2);
  CHECK(check.measured[0].min_ratio == Approx(2));
  CHECK(check.measured[0].max_ratio == Approx(10));
  CHECK(check.measured[1].from == 1 << 14);
  CHECK(check.measured[1].to == 1 << 15);
  CHECK(check.measured[1].min_ratio == Approx(0.5));
  CHECK(check.measured[1].max_ratio == Approx(100.0 / 112));
  // Predicted bus bandwidths are half of the measured ones: 5, 25, 45.5, 54.5, 56, 100 and 50 GB/s.
  REQUIRE(check.predicted.size() == 2);
  CHECK(check.predicted[0].rows == 5);
  CHECK(check.predicted[0].max_ratio == Approx(20));
  CHECK(check.predicted[1].from == 1 << 16);
  CHECK(check.predicted[1].to == 1 << 16);
}

TEST_CASE("an assumption that is too high at one size and too low at the next makes two ranges",
          "[comm]") {
  const ComparedCurve curve{"curve", {with_bandwidth(1024, 50), with_bandwidth(2048, 200)}};
  const AssumptionCheck check = check_assumption(curve, 100e9);
  REQUIRE(check.measured.size() == 2);
  CHECK(check.measured[0].min_ratio == Approx(2));
  CHECK(check.measured[1].max_ratio == Approx(0.5));
}

}  // namespace pipewright::analysis
