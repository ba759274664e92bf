#include "sim/goodput/closed_forms.hpp"

#include <cmath>

#include <catch2/catch.hpp>

using namespace pipewright::goodput;

TEST_CASE("Young's interval is the square root of twice the stall times the mean time between") {
  CHECK(young_interval(50, 10000) == Approx(1000));  // sqrt(2 * 50 * 10000)
}

TEST_CASE("Daly's interval is Young's for short checkpoints and the mean for long checkpoints") {
  CHECK(daly_interval(1e-4, 1e6) == Approx(young_interval(1e-4, 1e6)).epsilon(1e-3));
  CHECK(daly_interval(3000, 1000) == 1000);
  // Daly's formula for w / 2M = 0.04, with w = 8 s per checkpoint and M = 100 s between failures:
  // sqrt(2 w M) (1 + 0.2 / 3 + 0.04 / 9) - w.
  CHECK(daly_interval(8, 100) == Approx(40 * (1 + 0.2 / 3 + 0.04 / 9) - 8));
}

TEST_CASE("Daly's interval is within a thousandth of the best by Daly's model") {
  const double stall = GENERATE(1.0, 20.0, 200.0);
  const double mean = 7200;
  const double best = exact_ratio(daly_interval(stall, mean), stall, 300, mean);
  for (double interval = 10; interval < 20000; interval *= 1.02)
    CHECK(exact_ratio(interval, stall, 300, mean) < best * 1.001);
}

TEST_CASE("the first-order ratio is that of Daly's model for rare failures") {
  CHECK(first_order_ratio(600, 6, 300, 1e6) == Approx(exact_ratio(600, 6, 300, 1e6)).epsilon(1e-5));
}
