#include "sim/comm/least_squares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <unsupported/Eigen/NonLinearOptimization>

namespace pipewright::comm {
namespace {

double robust_bend(double residual) { return std::hypot(1, residual / robust_scale); }
double robust_weight(double residual) { return 1 / robust_bend(residual); }

// Transforms a residual so that half its square is the robust loss; the second function is the
// derivative.
double softened(double residual) { return residual * std::sqrt(2 / (1 + robust_bend(residual))); }
double softened_slope(double residual) {
  return std::sqrt((1 + robust_bend(residual)) / 2) * robust_weight(residual);
}

Eigen::Map<const Eigen::MatrixXd> matrix_view(const Matrix& matrix) {
  return {matrix.values.data(), static_cast<Eigen::Index>(matrix.rows),
          static_cast<Eigen::Index>(matrix.columns)};
}

Matrix difference_jacobian(const Residuals& function, std::span<const Unknown> unknowns,
                           std::span<const double> x, std::span<const double> at_x) {
  constexpr double step = 1e-5;
  Matrix jacobian{at_x.size(), x.size()};
  std::vector<double> nearby(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    nearby[i] = x[i] + step > unknowns[i].maximum ? x[i] - step : x[i] + step;
    const std::vector<double> nearby_residuals = function(nearby);
    for (std::size_t row = 0; row < nearby_residuals.size(); ++row)
      jacobian(row, i) = (nearby_residuals[row] - at_x[row]) / (nearby[i] - x[i]);
    nearby[i] = x[i];
  }
  return jacobian;
}

// Function that Eigen minimizes: half the squares of the softened residuals and of the prior terms.
// Outside the bounds it equals its value at the bounds, and an unknown that would cross its bound
// has derivative 0, so that the other unknowns continue without it.
class BoundedFunction {
 public:
  BoundedFunction(const Residuals& function, std::span<const Unknown> unknowns)
      : function_(function), unknowns_(unknowns), x_(unknowns.size()) {}

  Eigen::VectorXd start() {
    Eigen::VectorXd x(x_.size());
    std::ranges::transform(unknowns_, x.begin(), &Unknown::start);
    evaluate(x);
    return clamp_to_bounds(x);
  }
  Eigen::VectorXd clamp_to_bounds(const Eigen::VectorXd& x) const {
    Eigen::VectorXd result(x.size());
    std::ranges::transform(x, unknowns_, result.begin(), [](double value, const Unknown& unknown) {
      return std::clamp(value, unknown.minimum, unknown.maximum);
    });
    return result;
  }
  LeastSquares result(const Eigen::VectorXd& x) {
    evaluate(x);
    LeastSquares result{.unknowns = x_, .residuals = residuals_, .weights = {}, .jacobian = {}};
    for (const double residual : residuals_) {
      result.weights.push_back(robust_weight(residual));
      result.cost += robust_loss(residual);
    }
    for (std::size_t i = 0; i < x_.size(); ++i)
      result.cost += std::pow(prior_residual(x_[i], unknowns_[i]), 2) / 2;
    result.jacobian = difference_jacobian(function_, unknowns_, x_, residuals_);
    return result;
  }

  // Members that Eigen::LevenbergMarquardt calls: residuals, then prior terms, at the point x.
  int values() const { return static_cast<int>(residuals_.size() + x_.size()); }
  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& values) {
    evaluate(x);
    const auto [_, pulls] = std::ranges::transform(residuals_, values.begin(), softened);
    std::ranges::transform(x_, unknowns_, pulls, prior_residual);
    return 0;
  }
  int df(const Eigen::VectorXd& x, Eigen::MatrixXd& slopes) {
    evaluate(x);
    const auto rows = static_cast<Eigen::Index>(residuals_.size());
    slopes.setZero();
    slopes.topRows(rows) = matrix_view(difference_jacobian(function_, unknowns_, x_, residuals_));
    Eigen::VectorXd values(slopes.rows());
    (*this)(x, values);
    for (Eigen::Index row = 0; row < rows; ++row)
      slopes.row(row) *= softened_slope(residuals_[row]);
    for (Eigen::Index i = 0; i < slopes.cols(); ++i) {
      slopes(rows + i, i) =
          std::sqrt(unknowns_[i].prior_rows) * unknowns_[i].prior_weight *
          softened_slope(unknowns_[i].prior_weight * (x_[i] - unknowns_[i].prior));
      const double up = slopes.col(i).dot(values);
      if ((x_[i] <= unknowns_[i].minimum && up > 0) || (x_[i] >= unknowns_[i].maximum && up < 0))
        slopes.col(i).setZero();
    }
    return 0;
  }

 private:
  static double prior_residual(double value, const Unknown& unknown) {
    return std::sqrt(unknown.prior_rows) * softened(unknown.prior_weight * (value - unknown.prior));
  }

  void evaluate(const Eigen::VectorXd& x) {
    const Eigen::VectorXd point = clamp_to_bounds(x);
    if (!residuals_.empty() && std::equal(point.begin(), point.end(), x_.begin())) return;
    x_.assign(point.begin(), point.end());
    residuals_ = function_(x_);
  }

  const Residuals& function_;
  std::span<const Unknown> unknowns_;
  std::vector<double> x_;  // point of the last evaluation
  std::vector<double> residuals_;
};

// Returns element `index` of Halton's low-discrepancy sequence in (0, 1): the digits of `index` in
// a base, mirrored at the decimal point.
double halton(int index, int base) {
  double result = 0;
  double digit_value = 1;
  for (; index > 0; index /= base) {
    digit_value /= base;
    result += digit_value * (index % base);
  }
  return result;
}

}  // namespace

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double robust_loss(double residual) {
  const double ratio = residual / robust_scale;
  // Equals robust_scale^2 (sqrt(1 + ratio^2) - 1), without loss of digits for small ratios.
  return robust_scale * robust_scale * ratio * ratio / (1 + std::hypot(1, ratio));
}

double LeastSquares::deviation() const {
  double squares = 0;
  double rows = 0;
  for (std::size_t row = 0; row < residuals.size(); ++row) {
    squares += weights[row] * residuals[row] * residuals[row];
    rows += weights[row];
  }
  const double freedom = rows - static_cast<double>(unknowns.size());
  return freedom > 0 ? std::sqrt(squares / freedom) : std::numeric_limits<double>::infinity();
}

std::vector<double> nearest_multiples(const Matrix& columns, std::span<const double> vector) {
  const Eigen::Map<const Eigen::VectorXd> target(vector.data(),
                                                 static_cast<Eigen::Index>(vector.size()));
  const Eigen::VectorXd result =
      Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(matrix_view(columns)).solve(target);
  return {result.begin(), result.end()};
}

Matrix LeastSquares::weighted_jacobian() const {
  Matrix weighted = jacobian;
  for (std::size_t column = 0; column < weighted.columns; ++column)
    for (std::size_t row = 0; row < weighted.rows; ++row)
      weighted(row, column) *= std::sqrt(weights[row]);
  return weighted;
}

// Computes the inverse of J^T J plus the prior (J: weighted Jacobian), times the variance of the
// residuals.
Matrix LeastSquares::covariance() const {
  const Matrix slopes = weighted_jacobian();
  const std::size_t size = slopes.columns;
  Matrix normal{size, size};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) normal(i, j) = dot(slopes.column(i), slopes.column(j));
    normal(i, i) += weak_prior * weak_prior;
  }
  Matrix covariance{size, size};
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> unit(size);
    unit[i] = deviation() * deviation();
    std::ranges::copy(nearest_multiples(normal, unit), covariance.values.data() + i * size);
  }
  return covariance;
}

LeastSquares least_squares(const Residuals& residuals, std::span<const Unknown> unknowns,
                           double tolerance) {
  BoundedFunction bounded(residuals, unknowns);
  Eigen::VectorXd x = bounded.start();
  if (unknowns.empty()) return bounded.result(x);
  Eigen::LevenbergMarquardt<BoundedFunction> solver(bounded);
  // The tolerance per step is smaller than requested, because steps that are cut off at bounds are
  // short and gain little before the fit has converged.
  solver.parameters.ftol = tolerance / 10;
  solver.parameters.maxfev = 120;
  solver.minimizeInit(x);
  Eigen::LevenbergMarquardtSpace::Status status = Eigen::LevenbergMarquardtSpace::Running;
  while (status == Eigen::LevenbergMarquardtSpace::Running) {
    status = solver.minimizeOneStep(x);
    x = bounded.clamp_to_bounds(x);
  }
  return bounded.result(x);
}

LeastSquares least_squares_from_many(const Residuals& residuals, std::span<const Unknown> unknowns,
                                     int starts) {
  constexpr std::array bases{2, 3, 5, 7, 11, 13, 17, 19};
  LeastSquares best = least_squares(residuals, unknowns);
  std::vector<Unknown> shifted_unknowns(unknowns.begin(), unknowns.end());
  for (int start = 1; start <= starts; ++start) {
    for (std::size_t i = 0; i < shifted_unknowns.size(); ++i)
      shifted_unknowns[i].start =
          unknowns[i].start + 2 * halton(start, bases[i % bases.size()]) - 1;
    LeastSquares candidate = least_squares(residuals, shifted_unknowns);
    if (candidate.cost < best.cost * (1 - 1e-9)) best = std::move(candidate);
  }
  return best;
}

}  // namespace pipewright::comm
