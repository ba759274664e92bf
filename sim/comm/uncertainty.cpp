#include "sim/comm/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::comm {
namespace {

constexpr double indistinct_correlation = 0.95;  // correlation

// Returns, for each row, how fast its weighted residual changes with an unchosen candidate while
// the chosen ones keep their fitted values. Where all are near 0, the rows do not depend on the
// candidate.
std::vector<double> residual_derivative(const ChoiceResiduals& residuals, const Unknown& unknown,
                                        std::size_t candidate, const Selection& selection) {
  std::vector<std::size_t> chosen = selection.chosen;
  std::vector<double> values = selection.fit.unknowns;
  chosen.push_back(candidate);
  constexpr double step = 1e-4;
  const double sign = unknown.start + step > unknown.maximum ? -1 : 1;
  values.push_back(unknown.start + sign * step);
  const std::vector<double> shifted_residuals = residuals(chosen, values);
  std::vector<double> changes(shifted_residuals.size());
  for (std::size_t row = 0; row < shifted_residuals.size(); ++row)
    changes[row] = std::sqrt(selection.fit.weights[row]) * sign *
                   (shifted_residuals[row] - selection.fit.residuals[row]) / step;
  return changes;
}

double squared_norm(std::span<const double> vector) { return dot(vector, vector); }

// Returns the squared length of the projection of `vector` onto the space that the columns span.
double projected_square(const Matrix& columns, std::span<const double> vector) {
  if (columns.columns == 0) return 0;
  std::vector<double> sum(vector.size());
  const std::vector<double> multiples = nearest_multiples(columns, vector);
  for (std::size_t i = 0; i < columns.columns; ++i)
    for (std::size_t row = 0; row < sum.size(); ++row) sum[row] += multiples[i] * columns(row, i);
  return squared_norm(sum);
}

// Cost of the measurements without the prior, because the prior must not narrow the intervals.
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
    max_cost_ = cost_of(best.residuals) + best.deviation() * best.deviation() / 2;
  }

  // Finds the end of the interval between the best value and a bound, by doubling and then halving;
  // `step` is the first guess of its width.
  double end(double step, double bound) const {
    const double from = best_.unknowns[index_];
    const double sign = bound < from ? -1 : 1;
    const double room = std::abs(bound - from);
    double accepted = 0;
    double rejected = std::min(step, room);
    while (rejected < room && !is_too_far(from + sign * rejected)) {
      accepted = rejected;
      rejected = std::min(2 * rejected, room);
    }
    if (rejected >= room && !is_too_far(bound)) return bound;
    constexpr int halvings = 4;
    for (int i = 0; i < halvings; ++i) {
      const double middle = (accepted + rejected) / 2;
      (is_too_far(from + sign * middle) ? rejected : accepted) = middle;
    }
    return from + sign * (accepted + rejected) / 2;
  }

 private:
  // Returns whether a value of this unknown lies outside the interval: even the best values of all
  // other unknowns cost too much.
  bool is_too_far(double value) const {
    std::vector<Unknown> remaining;
    for (std::size_t i = 0; i < unknowns_.size(); ++i) {
      if (i == index_) continue;
      remaining.push_back(unknowns_[i]);
      remaining.back().start = best_.unknowns[i];
    }
    std::vector<double> values(unknowns_.size());
    const Residuals remaining_residuals = [&](std::span<const double> x) {
      for (std::size_t i = 0, unknown = 0; i < values.size(); ++i)
        values[i] = i == index_ ? value : x[unknown++];
      return residuals_(values);
    };
    std::vector<double> x;
    for (const Unknown& unknown : remaining) x.push_back(unknown.start);
    if (cost_of(remaining_residuals(x)) <= max_cost_) return false;
    constexpr double coarse = 1e-3;
    return cost_of(least_squares(remaining_residuals, remaining, coarse).residuals) > max_cost_;
  }

  const Residuals& residuals_;
  std::span<const Unknown> unknowns_;
  const LeastSquares& best_;
  std::size_t index_;
  double max_cost_ = 0;
};

}  // namespace

std::vector<IndistinctPair> find_indistinct(const Selection& selection) {
  std::vector<IndistinctPair> pairs;
  if (selection.chosen.empty() || !std::isfinite(selection.fit.deviation())) return pairs;
  const Matrix covariance = selection.fit.covariance();
  for (std::size_t i = 0; i < selection.chosen.size(); ++i)
    for (std::size_t j = i + 1; j < selection.chosen.size(); ++j) {
      const double correlation = covariance(i, j) / std::sqrt(covariance(i, i) * covariance(j, j));
      if (std::abs(correlation) > indistinct_correlation)
        pairs.push_back({selection.chosen[i], selection.chosen[j], correlation});
    }
  return pairs;
}

std::vector<Unchosen> explain_unchosen(const ChoiceResiduals& residuals,
                                       std::span<const Unknown> candidates,
                                       const Selection& selection) {
  const Matrix slopes = selection.fit.weighted_jacobian();
  // Rows that are all far off by the same factor scatter little: their deviation is no noise.
  constexpr double largest_scatter = 0.05;
  const double scatter = std::clamp(median_deviation(selection.fit), 1e-3, largest_scatter);
  std::vector<Unchosen> explanations;
  for (std::size_t candidate = 0; candidate < candidates.size(); ++candidate) {
    if (std::ranges::binary_search(selection.chosen, candidate)) continue;
    Unchosen entry{candidate, analysis::KeptBecause::no_gain, {}};
    const std::vector<double> derivative =
        residual_derivative(residuals, candidates[candidate], candidate, selection);
    const double length = std::sqrt(squared_norm(derivative));
    if (length < scatter) {
      entry.reason = analysis::KeptBecause::no_trace;
      explanations.push_back(entry);
      continue;
    }
    // Compares the candidate's effect with combinations of all chosen ones, and finds the chosen
    // one with the most similar effect.
    double nearest = 0;
    for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
      const double cosine = std::abs(dot(derivative, slopes.column(i))) /
                            (length * std::sqrt(squared_norm(slopes.column(i))) + 1e-300);
      if (cosine <= nearest) continue;
      nearest = cosine;
      entry.nearest = selection.chosen[i];
    }
    if (projected_square(slopes, derivative) >
        indistinct_correlation * indistinct_correlation * length * length)
      entry.reason = analysis::KeptBecause::likeness;
    else
      entry.nearest.reset();
    explanations.push_back(entry);
  }
  return explanations;
}

double median_deviation(const LeastSquares& fit) {
  std::vector<double> sizes;
  for (const double residual : fit.residuals) sizes.push_back(std::abs(residual));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  const auto rows = static_cast<double>(sizes.size());
  const double freedom = std::max(rows - static_cast<double>(fit.unknowns.size()), 1.0);
  constexpr double normal_factor = 1.4826;
  return normal_factor * *middle * std::sqrt(rows / freedom);
}

std::vector<Interval> intervals(const Residuals& residuals, std::span<const Unknown> unknowns,
                                const LeastSquares& best) {
  std::vector<Interval> result;
  if (!std::isfinite(best.deviation())) {  // fewer rows than unknowns
    for (const Unknown& unknown : unknowns) result.push_back({unknown.minimum, unknown.maximum});
    return result;
  }
  const Matrix covariance = best.covariance();
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    const double error = std::sqrt(covariance(i, i));
    const double step = std::clamp(error, 1e-6, 1.0);
    const Profile profile(residuals, unknowns, best, i);
    result.push_back(
        {profile.end(step, unknowns[i].minimum), profile.end(step, unknowns[i].maximum)});
  }
  return result;
}

}  // namespace pipewright::comm
