#include "sim/comm/least_squares.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "sim/comm/uncertainty.hpp"

using namespace pipewright::comm;

namespace {

// Returns the residuals of fitting a + b x to values at x = 1, 2, 4, .. Parameters and residuals
// are logarithmic.
Residuals line_through(const std::vector<double>& measured) {
  return [measured](std::span<const double> u) {
    std::vector<double> residuals;
    double x = 1;
    for (const double y : measured) {
      residuals.push_back(std::log((std::exp(u[0]) + std::exp(u[1]) * x) / y));
      x *= 2;
    }
    return residuals;
  };
}

std::vector<double> line(double a, double b, int points) {
  std::vector<double> y;
  for (int i = 0; i < points; ++i) y.push_back(a + b * std::ldexp(1, i));
  return y;
}

const std::vector<Unknown> anywhere{{0, -20, 20, 0}, {0, -20, 20, 0}};

}  // namespace

TEST_CASE("the robust loss is quadratic near 0 and linear far away", "[fit]") {
  CHECK(robust_loss(1e-4) == Approx(0.5e-8).epsilon(1e-4));
  CHECK(robust_loss(-1e-4) == robust_loss(1e-4));
  CHECK(robust_loss(100) == Approx(robust_scale * 100).epsilon(2e-3));
}

TEST_CASE("an exact line is found from a distant start", "[fit]") {
  const LeastSquares fit = least_squares(line_through(line(700, 2, 16)), anywhere);
  CHECK(std::exp(fit.unknowns[0]) == Approx(700).epsilon(1e-3));
  CHECK(std::exp(fit.unknowns[1]) == Approx(2).epsilon(1e-3));
  CHECK(fit.deviation() < 1e-3);
}

TEST_CASE("a tenth of wrong rows changes a fit by at most a few percent", "[fit]") {
  std::vector<double> measured = line(700, 2, 20);
  measured[4] *= 3;
  measured[13] *= 2;
  const LeastSquares fit = least_squares(line_through(measured), anywhere);
  CHECK(std::exp(fit.unknowns[0]) == Approx(700).epsilon(0.04));
  CHECK(std::exp(fit.unknowns[1]) == Approx(2).epsilon(0.04));
}

TEST_CASE("an unknown stops at its bound while the others continue", "[fit]") {
  const std::vector<Unknown> bounded{{0, -20, 20, 0}, {0, -20, std::log(1.5), 0}};
  const LeastSquares fit = least_squares(line_through(line(700, 2, 16)), bounded);
  CHECK(fit.unknowns[1] == std::log(1.5));
  CHECK(std::exp(fit.unknowns[0]) > 700);
}

TEST_CASE("an unknown without effect takes its prior value", "[fit]") {
  const std::vector<double> measured = line(700, 2, 16);
  const Residuals line_residuals = line_through(measured);
  const Residuals with_unused = [&](std::span<const double> u) {
    return line_residuals(u.first(2));
  };
  const std::vector<Unknown> unknowns{{0, -20, 20, 0}, {0, -20, 20, 0}, {3, -20, 20, 1.25}};
  const LeastSquares fit = least_squares(with_unused, unknowns);
  CHECK(fit.unknowns[2] == Approx(1.25).margin(1e-6));
  CHECK(std::exp(fit.unknowns[1]) == Approx(2).epsilon(1e-3));
  CHECK(std::sqrt(fit.covariance()(2, 2)) > 30 * std::sqrt(fit.covariance()(1, 1)));
}

TEST_CASE("the errors of a mean are the statistical ones", "[fit]") {
  const std::vector<double> y{0.010, 0.013, 0.008, 0.011, 0.009, 0.012};
  const Residuals mean = [&](std::span<const double> u) {
    std::vector<double> residuals;
    for (const double sample : y) residuals.push_back(u[0] - sample);
    return residuals;
  };
  const std::vector<Unknown> unknown{{0.5, -1, 1, 0}};
  const LeastSquares fit = least_squares(mean, unknown);
  CHECK(fit.unknowns[0] == Approx(0.0105).epsilon(1e-4));
  double squares = 0;
  for (const double sample : y) squares += std::pow(sample - 0.0105, 2);
  CHECK(fit.deviation() == Approx(std::sqrt(squares / 5)).epsilon(1e-3));
  CHECK(fit.covariance()(0, 0) == Approx(squares / 5 / 6).epsilon(1e-3));
  const Interval interval = intervals(mean, unknown, fit).front();
  const double error = std::sqrt(squares / 30);
  CHECK(interval.high - fit.unknowns[0] == Approx(error).epsilon(0.1));
  CHECK(fit.unknowns[0] - interval.low == Approx(error).epsilon(0.1));
}

TEST_CASE("an interval is open if every smaller value fits equally well", "[fit]") {
  // In the model max(a, b x) all values follow b x, so that they only give an upper limit of a: the
  // smallest value.
  const Residuals larger = [](std::span<const double> u) {
    std::vector<double> residuals;
    for (const double x : {10.0, 20.0, 40.0, 80.0})
      residuals.push_back(
          std::log(std::max(std::exp(u[0]), std::exp(u[1]) * x) / (x * (x == 20 ? 1.02 : 0.99))));
    return residuals;
  };
  const LeastSquares fit = least_squares(larger, anywhere);
  const std::vector<Interval> between = intervals(larger, anywhere, fit);
  CHECK(between[0].low == -20);
  CHECK(between[0].high == Approx(std::log(10)).margin(0.05));
  CHECK(between[1].low > -0.1);
  CHECK(between[1].high < 0.1);
}

TEST_CASE("several starts escape a local minimum", "[fit]") {
  const Residuals wells = [](std::span<const double> u) {
    return std::vector<double>{0.1 * (1.1 - std::cos(4 * u[0])) + 0.01 * u[0] * u[0]};
  };
  const std::vector<Unknown> off{{1.4, -3, 3, 1.4}};
  const LeastSquares sample = least_squares(wells, off);
  const LeastSquares from_many = least_squares_from_many(wells, off, 6);
  CHECK(std::abs(sample.unknowns[0]) > 0.5);
  CHECK(std::abs(from_many.unknowns[0]) < 0.05);
  CHECK(from_many.cost < sample.cost);
}
