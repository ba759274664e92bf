#include "sim/comm/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::comm {
namespace {

constexpr double alike = 0.95;  // correlation

// How residuals, by the square roots of their weights, change with a candidate that was not chosen,
// where the chosen ones are best.
std::vector<double> change(const ChoiceResiduals& residuals, const Unknown& unknown,
                           std::size_t candidate, const Selection& selection) {
  std::vector<std::size_t> chosen = selection.chosen;
  std::vector<double> values = selection.fit.unknowns;
  chosen.push_back(candidate);
  constexpr double step = 1e-4;
  const double sign = unknown.start + step > unknown.most ? -1 : 1;
  values.push_back(unknown.start + sign * step);
  const std::vector<double> there = residuals(chosen, values);
  std::vector<double> changes(there.size());
  for (std::size_t row = 0; row < there.size(); ++row)
    changes[row] = std::sqrt(selection.fit.weights[row]) * sign *
                   (there[row] - selection.fit.residuals[row]) / step;
  return changes;
}

double squared_norm(std::span<const double> one) { return dot(one, one); }

// The squared length of the part of `vector` that sums of multiples of the columns make up.
double made_up(const Matrix& columns, std::span<const double> vector) {
  if (columns.columns == 0) return 0;
  std::vector<double> sum(vector.size());
  const std::vector<double> multiples = nearest_multiples(columns, vector);
  for (std::size_t i = 0; i < columns.columns; ++i)
    for (std::size_t row = 0; row < sum.size(); ++row) sum[row] += multiples[i] * columns(row, i);
  return squared_norm(sum);
}

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

std::vector<IndistinctPair> indistinct(const Selection& selection) {
  std::vector<IndistinctPair> pairs;
  if (selection.chosen.empty() || !std::isfinite(selection.fit.deviation())) return pairs;
  const Matrix covariance = selection.fit.covariance();
  for (std::size_t i = 0; i < selection.chosen.size(); ++i)
    for (std::size_t j = i + 1; j < selection.chosen.size(); ++j) {
      const double correlation = covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j));
      if (std::abs(correlation) > alike)
        pairs.push_back({selection.chosen[i], selection.chosen[j], correlation});
    }
  return pairs;
}

std::vector<Unchosen> look_at_unchosen(const ChoiceResiduals& residuals,
                                       std::span<const Unknown> candidates,
                                       const Selection& selection) {
  const Matrix slopes = selection.fit.weighted_jacobian();
  const double scatter = std::max(median_deviation(selection.fit), 1e-3);
  std::vector<Unchosen> found;
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    if (std::ranges::binary_search(selection.chosen, candidate)) continue;
    Unchosen one{candidate, analysis::KeptBecause::no_gain, {}};
    const std::vector<double> of = change(residuals, candidates[candidate], candidate, selection);
    const double length = std::sqrt(squared_norm(of));
    if (length < scatter) {
      one.why = analysis::KeptBecause::no_trace;
      found.push_back(one);
      continue;
    }
    // The part of it that no chosen ones together make up, and which of them comes nearest.
    double nearest = 0;
    for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
      const double cosine = std::abs(dot(of, slopes.column(i))) /
                            (length * std::sqrt(squared_norm(slopes.column(i))) + 1e-300);
      if (cosine <= nearest) continue;
      nearest = cosine;
      one.like = selection.chosen[i];
    }
    if (made_up(slopes, of) > alike * alike * length * length)
      one.why = analysis::KeptBecause::likeness;
    else
      one.like.reset();
    found.push_back(one);
  }
  return found;
}

double median_deviation(const LeastSquares& fit) {
  std::vector<double> sizes;
  for (const double residual : fit.residuals) sizes.push_back(std::abs(residual));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  const auto rows = static_cast<double>(sizes.size());
  const double freedom = std::max(rows - static_cast<double>(fit.unknowns.size()), 1.0);
  constexpr double of_normal = 1.4826;
  return of_normal * *middle * std::sqrt(rows / freedom);
}

std::vector<Interval> intervals(const Residuals& residuals, std::span<const Unknown> unknowns,
                                const LeastSquares& best) {
  std::vector<Interval> found;
  if (!std::isfinite(best.deviation())) {  // fewer rows than unknowns
    for (const Unknown& unknown : unknowns) found.push_back({unknown.least, unknown.most});
    return found;
  }
  const Matrix covariance = best.covariance();
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    const double error = std::sqrt(covariance(i, i));
    const double step = std::clamp(error, 1e-6, 1.0);
    const Profile profile(residuals, unknowns, best, i);
    found.push_back({profile.end(step, unknowns[i].least), profile.end(step, unknowns[i].most)});
  }
  return found;
}

}  // namespace pipewright::comm
