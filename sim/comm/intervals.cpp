#include "sim/comm/intervals.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::comm {
namespace {

// Of what was measured alone: what is usual bounds no interval.
double cost_of(std::span<const double> residuals) {
  double sum = 0;
  for (const double residual : residuals) sum += robust_loss(residual);
  return sum;
}

class Profile {
 public:
  Profile(const Residuals& residuals, std::span<const Unknown> unknowns, const LeastSquares& best,
          std::size_t index)
      : residuals_(residuals), unknowns_(unknowns), best_(best), index_(index) {
    most_ = cost_of(best.residuals) + best.deviation() * best.deviation() / 2;
  }

  // From the best value towards a bound, at first by a step that may be right.
  double end(double step, double bound) const {
    const double from = best_.unknowns[index_];
    const double sign = bound < from ? -1 : 1;
    const double room = std::abs(bound - from);
    double inside = 0;
    double outside = std::min(step, room);
    while (outside < room && !is_too_far(from + sign * outside)) {
      inside = outside;
      outside = std::min(2 * outside, room);
    }
    if (outside >= room && !is_too_far(bound)) return bound;
    constexpr int halvings = 4;
    for (int i = 0; i < halvings; ++i) {
      const double middle = (inside + outside) / 2;
      (is_too_far(from + sign * middle) ? outside : inside) = middle;
    }
    return from + sign * (inside + outside) / 2;
  }

 private:
  // Even if all others are as it suits best.
  bool is_too_far(double value) const {
    std::vector<Unknown> others;
    for (std::size_t i = 0; i < unknowns_.size(); ++i) {
      if (i == index_) continue;
      others.push_back(unknowns_[i]);
      others.back().start = best_.unknowns[i];
    }
    std::vector<double> all(unknowns_.size());
    const Residuals of_others = [&](std::span<const double> x) {
      for (std::size_t i = 0, other = 0; i < all.size(); ++i)
        all[i] = i == index_ ? value : x[other++];
      return residuals_(all);
    };
    std::vector<double> x;
    for (const Unknown& other : others) x.push_back(other.start);
    if (cost_of(of_others(x)) <= most_) return false;
    constexpr double coarse = 1e-3;
    return cost_of(least_squares(of_others, others, coarse).residuals) > most_;
  }

  const Residuals& residuals_;
  std::span<const Unknown> unknowns_;
  const LeastSquares& best_;
  std::size_t index_;
  double most_ = 0;
};

}  // namespace

std::vector<Interval> intervals(const Residuals& residuals, std::span<const Unknown> unknowns,
                                const LeastSquares& best) {
  std::vector<Interval> found;
  if (!std::isfinite(best.deviation())) {  // fewer rows than unknowns
    for (const Unknown& unknown : unknowns) found.push_back({unknown.least, unknown.most});
    return found;
  }
  const Matrix covariance = best.covariance();
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    const double error = std::sqrt(covariance.at(i, i));
    const double step = std::clamp(error, 1e-6, 1.0);
    const Profile profile(residuals, unknowns, best, i);
    found.push_back({profile.end(step, unknowns[i].least), profile.end(step, unknowns[i].most)});
  }
  return found;
}

}  // namespace pipewright::comm
