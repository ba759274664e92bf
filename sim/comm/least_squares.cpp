#include "sim/comm/least_squares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <unsupported/Eigen/NonLinearOptimization>

namespace pipewright::comm {
namespace {

double bend(double residual) { return std::hypot(1, residual / robust_scale); }
double weight(double residual) { return 1 / bend(residual); }

// The number whose half square is the robust loss, and its derivative.
double softened(double residual) { return residual * std::sqrt(2 / (1 + bend(residual))); }
double softened_slope(double residual) {
  return std::sqrt((1 + bend(residual)) / 2) * weight(residual);
}

Eigen::Map<const Eigen::MatrixXd> view(const Matrix& matrix) {
  return {matrix.values.data(), static_cast<Eigen::Index>(matrix.rows),
          static_cast<Eigen::Index>(matrix.columns)};
}

Matrix derivatives(const Residuals& function, std::span<const Unknown> unknowns,
                   std::span<const double> x, std::span<const double> at_x) {
  constexpr double step = 1e-5;
  Matrix jacobian{at_x.size(), x.size()};
  std::vector<double> near(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    near[i] = x[i] + step > unknowns[i].most ? x[i] - step : x[i] + step;
    const std::vector<double> there = function(near);
    for (std::size_t row = 0; row < there.size(); ++row)
      jacobian(row, i) = (there[row] - at_x[row]) / (near[i] - x[i]);
    near[i] = x[i];
  }
  return jacobian;
}

// What Eigen minimises: half the squares of the softened residuals and of the pulls to what is
// usual. Beyond the bounds it is what it is at them, and an unknown that is at a bound and would go
// beyond has no slope, so that the others go on without it.
class Bounded {
 public:
  Bounded(const Residuals& function, std::span<const Unknown> unknowns)
      : function_(function), unknowns_(unknowns), x_(unknowns.size()) {}

  Eigen::VectorXd start() {
    Eigen::VectorXd x(x_.size());
    std::ranges::transform(unknowns_, x.begin(), &Unknown::start);
    look(x);
    return inside(x);
  }
  Eigen::VectorXd inside(const Eigen::VectorXd& x) const {
    Eigen::VectorXd result(x.size());
    std::ranges::transform(x, unknowns_, result.begin(), [](double value, const Unknown& unknown) {
      return std::clamp(value, unknown.least, unknown.most);
    });
    return result;
  }
  LeastSquares found(const Eigen::VectorXd& x) {
    look(x);
    LeastSquares found{.unknowns = x_, .residuals = residuals_, .weights = {}, .jacobian = {}};
    for (const double residual : residuals_) {
      found.weights.push_back(weight(residual));
      found.cost += robust_loss(residual);
    }
    for (std::size_t i = 0; i < x_.size(); ++i)
      found.cost += std::pow(pulled(x_[i], unknowns_[i]), 2) / 2;
    found.jacobian = derivatives(function_, unknowns_, x_, residuals_);
    return found;
  }

  // What Eigen asks of a function.
  int values() const { return static_cast<int>(residuals_.size() + x_.size()); }
  int operator()(const Eigen::VectorXd& x, Eigen::VectorXd& values) {
    look(x);
    const auto [_, pulls] = std::ranges::transform(residuals_, values.begin(), softened);
    std::ranges::transform(x_, unknowns_, pulls, pulled);
    return 0;
  }
  int df(const Eigen::VectorXd& x, Eigen::MatrixXd& slopes) {
    look(x);
    const auto rows = static_cast<Eigen::Index>(residuals_.size());
    slopes.setZero();
    slopes.topRows(rows) = view(derivatives(function_, unknowns_, x_, residuals_));
    Eigen::VectorXd values(slopes.rows());
    (*this)(x, values);
    for (Eigen::Index row = 0; row < rows; ++row)
      slopes.row(row) *= softened_slope(residuals_[row]);
    for (Eigen::Index i = 0; i < slopes.cols(); ++i) {
      slopes(rows + i, i) = std::sqrt(unknowns_[i].times) * unknowns_[i].pull *
                            softened_slope(unknowns_[i].pull * (x_[i] - unknowns_[i].usual));
      const double up = slopes.col(i).dot(values);
      if ((x_[i] <= unknowns_[i].least && up > 0) || (x_[i] >= unknowns_[i].most && up < 0))
        slopes.col(i).setZero();
    }
    return 0;
  }

 private:
  static double pulled(double value, const Unknown& unknown) {
    return std::sqrt(unknown.times) * softened(unknown.pull * (value - unknown.usual));
  }

  void look(const Eigen::VectorXd& x) {
    const Eigen::VectorXd at = inside(x);
    if (!residuals_.empty() && std::equal(at.begin(), at.end(), x_.begin())) return;
    x_.assign(at.begin(), at.end());
    residuals_ = function_(x_);
  }

  const Residuals& function_;
  std::span<const Unknown> unknowns_;
  std::vector<double> x_;  // where it looked last
  std::vector<double> residuals_;
};

// Halton's sequence: digits of `index` in a base, mirrored behind the point.
double halton(int index, int base) {
  double result = 0;
  double place = 1;
  for (; index > 0; index /= base) {
    place /= base;
    result += place * (index % base);
  }
  return result;
}

}  // namespace

double dot(std::span<const double> one, std::span<const double> other) {
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

double robust_loss(double residual) {
  const double ratio = residual / robust_scale;
  // ratio^2 / (1 + sqrt(1 + ratio^2)) is sqrt(1 + ratio^2) - 1 without its cancellation.
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
  const Eigen::Map<const Eigen::VectorXd> to(vector.data(),
                                             static_cast<Eigen::Index>(vector.size()));
  const Eigen::VectorXd found =
      Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(view(columns)).solve(to);
  return {found.begin(), found.end()};
}

Matrix LeastSquares::weighted_jacobian() const {
  Matrix weighted = jacobian;
  for (std::size_t column = 0; column < weighted.columns; ++column)
    for (std::size_t row = 0; row < weighted.rows; ++row)
      weighted(row, column) *= std::sqrt(weights[row]);
  return weighted;
}

// The inverse of the normal matrix, by the variance.
Matrix LeastSquares::covariance() const {
  const Matrix slopes = weighted_jacobian();
  const std::size_t size = slopes.columns;
  Matrix normal{size, size};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) normal(i, j) = dot(slopes.column(i), slopes.column(j));
    normal(i, i) += little_pull * little_pull;
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
                           double least) {
  Bounded bounded(residuals, unknowns);
  Eigen::VectorXd x = bounded.start();
  if (unknowns.empty()) return bounded.found(x);
  Eigen::LevenbergMarquardt<Bounded> steps(bounded);
  // One step that saves little does not mean that the next will: steps cut off at bounds fall
  // short.
  steps.parameters.ftol = least / 10;
  steps.parameters.maxfev = 120;
  steps.minimizeInit(x);
  Eigen::LevenbergMarquardtSpace::Status status = Eigen::LevenbergMarquardtSpace::Running;
  while (status == Eigen::LevenbergMarquardtSpace::Running) {
    status = steps.minimizeOneStep(x);
    x = bounded.inside(x);
  }
  return bounded.found(x);
}

LeastSquares least_squares_from_many(const Residuals& residuals, std::span<const Unknown> unknowns,
                                     int more) {
  constexpr std::array bases{2, 3, 5, 7, 11, 13, 17, 19};
  LeastSquares best = least_squares(residuals, unknowns);
  std::vector<Unknown> elsewhere(unknowns.begin(), unknowns.end());
  for (int start = 1; start <= more; ++start) {
    for (std::size_t i = 0; i < elsewhere.size(); ++i)
      elsewhere[i].start = unknowns[i].start + 2 * halton(start, bases[i % bases.size()]) - 1;
    LeastSquares other = least_squares(residuals, elsewhere);
    if (other.cost < best.cost * (1 - 1e-9)) best = std::move(other);
  }
  return best;
}

}  // namespace pipewright::comm
