#include "analysis/comm/assumption.hpp"

#include <catch2/catch.hpp>

#include "tests/analysis/comm/compared.hpp"

namespace pipewright::analysis {
namespace {

// A row that has this bus bandwidth in GB/s as measured, and half of it as predicted.
ComparedRow with_bandwidth(std::uint64_t bytes, double measured) {
  const double us =
      static_cast<double>(bytes) * bus_factor(Operation::all_reduce, 16) / (measured * 1e9) * 1e6;
  return test::compared(bytes, us, 2 * us);
}

}  // namespace

TEST_CASE("the bus bandwidth of a row is nccl-tests'", "[comm]") {
  // 128 MiB over 16 ranks in 2 ms: 67.1 GB/s, times 2 * 15 / 16.
  CHECK(bus_bandwidth(test::compared(1 << 27, 2000, 1).measured, 2e-3) ==
        Approx(134217728 / 2e-3 * 1.875));
}

TEST_CASE("an assumed bandwidth is off in stretches of sizes, to one side each", "[comm]") {
  ComparedCurve curve{"curve", {}};
  const double measured[]{10, 50, 91, 109, 112, 200, 100};
  for (std::size_t i = 0; i < 7; ++i)
    curve.rows.push_back(with_bandwidth(std::uint64_t{1} << (10 + i), measured[i]));
  const AssumptionCheck check = check_assumption(curve, 100e9);
  REQUIRE(check.measured.size() == 2);
  CHECK(check.measured[0].from == 1 << 10);
  CHECK(check.measured[0].to == 1 << 11);
  CHECK(check.measured[0].rows == 2);
  CHECK(check.measured[0].least == Approx(2));
  CHECK(check.measured[0].most == Approx(10));
  CHECK(check.measured[1].from == 1 << 14);
  CHECK(check.measured[1].to == 1 << 15);
  CHECK(check.measured[1].least == Approx(0.5));
  CHECK(check.measured[1].most == Approx(100.0 / 112));
  // Predicted are 5, 25, 45.5, 54.5, 56 and 100 and 50 GB/s.
  REQUIRE(check.predicted.size() == 2);
  CHECK(check.predicted[0].rows == 5);
  CHECK(check.predicted[0].most == Approx(20));
  CHECK(check.predicted[1].from == 1 << 16);
  CHECK(check.predicted[1].to == 1 << 16);
}

TEST_CASE("an assumption that is too high at one size and too low at the next is two findings",
          "[comm]") {
  const ComparedCurve curve{"curve", {with_bandwidth(1024, 50), with_bandwidth(2048, 200)}};
  const AssumptionCheck check = check_assumption(curve, 100e9);
  REQUIRE(check.measured.size() == 2);
  CHECK(check.measured[0].least == Approx(2));
  CHECK(check.measured[1].most == Approx(0.5));
}

}  // namespace pipewright::analysis
