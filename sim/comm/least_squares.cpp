#include "sim/comm/least_squares.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pipewright::comm {
namespace {

double weight(double residual) { return 1 / std::hypot(1, residual / robust_scale); }

// What decides where measurements say little is a Gaussian prior: usual numbers may be wrong by a
// factor of 7 (2 in a logarithm) where rows scatter by 4 %. Their ratio:
constexpr double pull = 0.02;

double cost_of(std::span<const double> residuals, std::span<const Unknown> unknowns,
               std::span<const double> x) {
  double sum = 0;
  for (const double residual : residuals) sum += robust_loss(residual);
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += std::pow(pull * (x[i] - unknowns[i].usual), 2) / 2;
  return sum;
}

Matrix pulled_normal_matrix(const Matrix& jacobian, std::span<const double> weights) {
  Matrix normal = normal_matrix(jacobian, weights);
  for (std::size_t i = 0; i < normal.rows; ++i) normal.at(i, i) += pull * pull;
  return normal;
}

std::vector<double> weights_of(std::span<const double> residuals) {
  std::vector<double> weights;
  for (const double residual : residuals) weights.push_back(weight(residual));
  return weights;
}

Matrix derivatives(const Residuals& function, std::span<const Unknown> unknowns,
                   std::span<const double> x, std::span<const double> at_x) {
  constexpr double step = 1e-5;
  Matrix jacobian(at_x.size(), x.size());
  std::vector<double> near(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) {
    near[i] = x[i] + step > unknowns[i].most ? x[i] - step : x[i] + step;
    const std::vector<double> there = function(near);
    for (std::size_t row = 0; row < there.size(); ++row)
      jacobian.at(row, i) = (there[row] - at_x[row]) / (near[i] - x[i]);
    near[i] = x[i];
  }
  return jacobian;
}

// Where the steps lead from one point.
class Descent {
 public:
  Descent(const Residuals& function, std::span<const Unknown> unknowns)
      : function_(function), unknowns_(unknowns) {
    for (const Unknown& unknown : unknowns)
      at_.unknowns.push_back(std::clamp(unknown.start, unknown.least, unknown.most));
    at_.residuals = function_(at_.unknowns);
    at_.cost = cost_of(at_.residuals, unknowns_, at_.unknowns);
    look_around();
  }

  LeastSquares go(double least) {
    constexpr int most_steps = 60;
    for (int i = 0; i < most_steps; ++i) {
      const double before = at_.cost;
      if (!step()) break;
      look_around();
      if (before - at_.cost <= least * before || at_.cost < 1e-18) break;
    }
    return std::move(at_);
  }

 private:
  void look_around() {
    at_.weights = weights_of(at_.residuals);
    at_.jacobian = derivatives(function_, unknowns_, at_.unknowns, at_.residuals);
  }

  // Tries ever shorter steps, until one lowers the cost.
  bool step() {
    const std::size_t n = unknowns_.size();
    std::vector<double> down(n);
    for (std::size_t i = 0; i < n; ++i)
      down[i] = pull * pull * (unknowns_[i].usual - at_.unknowns[i]);
    for (std::size_t row = 0; row < at_.residuals.size(); ++row)
      for (std::size_t i = 0; i < n; ++i)
        down[i] -= at_.weights[row] * at_.residuals[row] * at_.jacobian.at(row, i);
    Matrix normal = pulled_normal_matrix(at_.jacobian, at_.weights);
    for (std::size_t i = 0; i < n; ++i)
      if (is_held(i, down[i])) {  // at a bound, and would go beyond
        down[i] = 0;
        for (std::size_t j = 0; j < n; ++j) normal.at(i, j) = normal.at(j, i) = 0;
      }
    constexpr int most_tries = 12;
    for (int i = 0; i < most_tries; ++i) {
      if (try_step(normal, down)) {
        damping_ = std::max(damping_ / 10, 1e-9);
        return true;
      }
      damping_ *= 5;
    }
    return false;
  }

  bool is_held(std::size_t i, double down) const {
    return (at_.unknowns[i] <= unknowns_[i].least && down < 0) ||
           (at_.unknowns[i] >= unknowns_[i].most && down > 0);
  }

  bool try_step(Matrix normal, std::span<const double> down) {
    constexpr double longest = 1;
    for (std::size_t i = 0; i < normal.rows; ++i) normal.at(i, i) *= 1 + damping_;
    const std::vector<double> step = solve(normal, down);
    std::vector<double> x = at_.unknowns;
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::clamp(x[i] + std::clamp(step[i], -longest, longest), unknowns_[i].least,
                        unknowns_[i].most);
    std::vector<double> residuals = function_(x);
    const double cost = cost_of(residuals, unknowns_, x);
    if (!(cost < at_.cost)) return false;
    at_.unknowns = std::move(x);
    at_.residuals = std::move(residuals);
    at_.cost = cost;
    return true;
  }

  const Residuals& function_;
  std::span<const Unknown> unknowns_;
  LeastSquares at_;
  double damping_ = 1e-3;
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

Matrix LeastSquares::covariance() const {
  Matrix result = inverse(pulled_normal_matrix(jacobian, weights));
  const double variance = deviation() * deviation();
  for (double& value : result.values) value *= variance;
  return result;
}

LeastSquares least_squares(const Residuals& residuals, std::span<const Unknown> unknowns,
                           double least) {
  return Descent(residuals, unknowns).go(least);
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
