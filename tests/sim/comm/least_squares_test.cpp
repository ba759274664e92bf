#include "sim/comm/least_squares.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/comm/uncertainty.hpp"

using namespace pipewright::comm;

namespace {

// log(a + b x) of a line through x = 1, 2, 4, .., by the logarithms of a and b.
Residuals line_through(const std::vector<double>& measured) {
  return [measured](std::span<const double> u) {
    std::vector<double> misses;
    double x = 1;
    for (const double y : measured) {
      misses.push_back(std::log((std::exp(u[0]) + std::exp(u[1]) * x) / y));
      x *= 2;
    }
    return misses;
  };
}

std::vector<double> line(double a, double b, int points) {
  std::vector<double> y;
  for (int i = 0; i < points; ++i) y.push_back(a + b * std::ldexp(1, i));
  return y;
}

const std::vector<Unknown> anywhere{{0, -20, 20, 0}, {0, -20, 20, 0}};

}  // namespace

TEST_CASE("the robust loss is half a square near 0 and a size far away", "[fit]") {
  CHECK(robust_loss(1e-4) == Approx(0.5e-8).epsilon(1e-4));
  CHECK(robust_loss(-1e-4) == robust_loss(1e-4));
  CHECK(robust_loss(100) == Approx(robust_scale * 100).epsilon(2e-3));
}

TEST_CASE("a line that measurements lie on is found from far away", "[fit]") {
  const LeastSquares found = least_squares(line_through(line(700, 2, 16)), anywhere);
  CHECK(std::exp(found.unknowns[0]) == Approx(700).epsilon(1e-3));
  CHECK(std::exp(found.unknowns[1]) == Approx(2).epsilon(1e-3));
  CHECK(found.deviation() < 1e-3);
}

TEST_CASE("a tenth of wrong rows moves a fit by a few percent at most", "[fit]") {
  std::vector<double> measured = line(700, 2, 20);
  measured[4] *= 3;
  measured[13] *= 2;
  const LeastSquares found = least_squares(line_through(measured), anywhere);
  CHECK(std::exp(found.unknowns[0]) == Approx(700).epsilon(0.04));
  CHECK(std::exp(found.unknowns[1]) == Approx(2).epsilon(0.04));
}

TEST_CASE("an unknown stops at its bound, and the others do what they can", "[fit]") {
  const std::vector<Unknown> bounded{{0, -20, 20, 0}, {0, -20, std::log(1.5), 0}};
  const LeastSquares found = least_squares(line_through(line(700, 2, 16)), bounded);
  CHECK(found.unknowns[1] == std::log(1.5));
  CHECK(std::exp(found.unknowns[0]) > 700);
}

TEST_CASE("an unknown that nothing depends on stays as it is usual", "[fit]") {
  const std::vector<double> measured = line(700, 2, 16);
  const Residuals two = line_through(measured);
  const Residuals three = [&](std::span<const double> u) { return two(u.first(2)); };
  const std::vector<Unknown> unknowns{{0, -20, 20, 0}, {0, -20, 20, 0}, {3, -20, 20, 1.25}};
  const LeastSquares found = least_squares(three, unknowns);
  CHECK(found.unknowns[2] == Approx(1.25).margin(1e-6));
  CHECK(std::exp(found.unknowns[1]) == Approx(2).epsilon(1e-3));
  CHECK(std::sqrt(found.covariance()(2, 2)) > 30 * std::sqrt(found.covariance()(1, 1)));
}

TEST_CASE("errors are those of a mean", "[fit]") {
  const std::vector<double> y{0.010, 0.013, 0.008, 0.011, 0.009, 0.012};
  const Residuals mean = [&](std::span<const double> u) {
    std::vector<double> misses;
    for (const double one : y) misses.push_back(u[0] - one);
    return misses;
  };
  const std::vector<Unknown> unknown{{0.5, -1, 1, 0}};
  const LeastSquares found = least_squares(mean, unknown);
  CHECK(found.unknowns[0] == Approx(0.0105).epsilon(1e-4));
  double squares = 0;
  for (const double one : y) squares += std::pow(one - 0.0105, 2);
  CHECK(found.deviation() == Approx(std::sqrt(squares / 5)).epsilon(1e-3));
  CHECK(found.covariance()(0, 0) == Approx(squares / 5 / 6).epsilon(1e-3));
  const Interval interval = intervals(mean, unknown, found).front();
  const double error = std::sqrt(squares / 30);
  CHECK(interval.high - found.unknowns[0] == Approx(error).epsilon(0.1));
  CHECK(found.unknowns[0] - interval.low == Approx(error).epsilon(0.1));
}

TEST_CASE("an interval is open where anything less would do as well", "[fit]") {
  // max(a, b x): measured where b x is larger, a is at most the least of it.
  const Residuals larger = [](std::span<const double> u) {
    std::vector<double> misses;
    for (const double x : {10.0, 20.0, 40.0, 80.0})
      misses.push_back(
          std::log(std::max(std::exp(u[0]), std::exp(u[1]) * x) / (x * (x == 20 ? 1.02 : 0.99))));
    return misses;
  };
  const LeastSquares found = least_squares(larger, anywhere);
  const std::vector<Interval> between = intervals(larger, anywhere, found);
  CHECK(between[0].low == -20);
  CHECK(between[0].high == Approx(std::log(10)).margin(0.05));
  CHECK(between[1].low > -0.1);
  CHECK(between[1].high < 0.1);
}

TEST_CASE("several starts leave a valley that one gets stuck in", "[fit]") {
  const Residuals wells = [](std::span<const double> u) {
    return std::vector<double>{0.1 * (1.1 - std::cos(4 * u[0])) + 0.01 * u[0] * u[0]};
  };
  const std::vector<Unknown> off{{1.4, -3, 3, 1.4}};
  const LeastSquares one = least_squares(wells, off);
  const LeastSquares many = least_squares_from_many(wells, off, 6);
  CHECK(std::abs(one.unknowns[0]) > 0.5);
  CHECK(std::abs(many.unknowns[0]) < 0.05);
  CHECK(many.cost < one.cost);
}
