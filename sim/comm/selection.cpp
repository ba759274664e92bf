#include "sim/comm/selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "analysis/report/statistics.hpp"

namespace pipewright::comm {
namespace {

constexpr std::size_t beam = 3;
constexpr std::size_t max_fitted = 9;  // number of choices that are fitted in each round
// Relative cost reductions below which a fit stops: coarse to rank selections, medium to
// cross-validate, fine for the reported fit.
constexpr double coarse = 1e-2;
constexpr double medium = 1e-4;
constexpr double fine = 1e-7;
constexpr std::size_t max_folds = 10;
// A selection of parameters is accepted only if its cost on left-out rows is at most half of that
// of the empty selection, or is lower on four of five rows, because a small gain on few rows is
// often a loss on others. Rows whose prediction the selection does not change do not count.
constexpr double max_cost_ratio = 0.5;
constexpr double min_better_share = 0.8;
constexpr double min_change = 0.005;  // smallest change of a row's logarithm that counts
// Relative precision of measured times, which are printed with three or four digits. A closer fit
// is meaningless.
constexpr double rounding = 1e-3;

std::vector<Unknown> starting_at(std::span<const Unknown> candidates, const Selection& selection) {
  std::vector<Unknown> unknowns;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    unknowns.push_back(candidates[selection.chosen[i]]);
    unknowns.back().start = selection.fit.unknowns[i];
    unknowns.back().prior_weight *= selection.prior_factor;
  }
  return unknowns;
}

double median_miss(const LeastSquares& fit) {
  std::vector<double> sizes;
  for (const double residual : fit.residuals) sizes.push_back(std::abs(residual));
  if (sizes.empty()) return 0;
  return analysis::quantile(std::move(sizes), 0.5);
}

class BeamSearch {
 public:
  BeamSearch(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
             const SelectionOptions& options)
      : residuals_(residuals), candidates_(candidates), options_(options) {}

  Selection run() {
    std::vector<Selection> survivors{empty_selection()};
    Selection best = survivors.front();
    double best_score = score(best);
    const std::size_t max_size = std::min(options_.max_parameters, candidates_.size());
    for (std::size_t size = 1; size <= max_size; ++size) {
      survivors = extend(survivors, size);
      if (survivors.empty()) break;
      // Differences in score below 2 are insignificant (Burnham and Anderson 2002, section 2.6).
      constexpr double min_gain = 2;
      for (const Selection& candidate : survivors) {
        const double candidate_score = score(candidate);
        if (candidate_score >= best_score - min_gain) continue;
        best = candidate;
        best_score = candidate_score;
      }
    }
    if (options_.progress) options_.progress(1);
    best.score = best_score;
    return best;
  }

 private:
  Selection empty_selection() const {
    LeastSquares fit;
    fit.residuals = residuals_({}, {});
    fit.weights.assign(fit.residuals.size(), 1);
    fit.jacobian = Matrix{fit.residuals.size(), 0};
    for (const double residual : fit.residuals) fit.cost += robust_loss(residual);
    return {.chosen = {}, .fit = std::move(fit)};
  }

  // Cost of predicted rows that were left out of the fit.
  struct Cost {
    double total = 0;  // per row
    // Costs of the rows whose predictions differ from those of the empty selection, with this
    // selection and with the empty one.
    double changed = 0;
    double changed_by_empty = 0;
    int changed_rows = 0;
    int better_rows = 0;

    bool is_clear() const {
      if (changed <= max_cost_ratio * changed_by_empty) return true;
      return changed <= changed_by_empty && better_rows >= min_better_share * changed_rows;
    }
  };

  static HoldOutParts interleaved_folds(std::size_t rows) {
    HoldOutParts parts(std::min(rows, max_folds), std::vector<bool>(rows));
    for (std::size_t row = 0; row < rows; ++row) parts[row % parts.size()][row] = true;
    return parts;
  }

  Cost left_out_cost(const Selection& selection, const HoldOutParts& parts) const {
    Cost cost;
    double rows = 0;
    for (const std::vector<bool>& is_out : parts) {
      const Residuals remaining_residuals = [&](std::span<const double> x) {
        std::vector<double> remaining;
        const std::vector<double> errors = residuals_(selection.chosen, x);
        for (std::size_t row = 0; row < errors.size(); ++row)
          if (!is_out[row]) remaining.push_back(errors[row]);
        return remaining;
      };
      const LeastSquares fit =
          least_squares(remaining_residuals, starting_at(candidates_, selection), medium);
      const std::vector<double> errors = residuals_(selection.chosen, fit.unknowns);
      for (std::size_t row = 0; row < errors.size(); ++row) {
        if (!is_out[row]) continue;
        const double loss = robust_loss(errors[row]);
        cost.total += loss;
        ++rows;
        if (std::abs(errors[row] - empty_residuals_[row]) < min_change) continue;
        cost.changed += loss;
        cost.changed_by_empty += robust_loss(empty_residuals_[row]);
        ++cost.changed_rows;
        if (loss < robust_loss(empty_residuals_[row])) ++cost.better_rows;
      }
    }
    if (rows > 0) cost.total /= rows;
    return cost;
  }

  // Akaike's criterion up to a constant, with the cost of left-out rows (cross validation is
  // asymptotically equivalent: Stone, J. R. Stat. Soc. B 39 (1977) 44). When single rows are left
  // out, their neighbours reveal them almost completely, so the extrapolation schemes have the same
  // weight.
  double score(const Selection& selection) {
    if (selection.chosen.empty()) empty_residuals_ = selection.fit.residuals;
    constexpr double floor = rounding * rounding / 2;
    double sum = std::log(
        left_out_cost(selection, interleaved_folds(empty_residuals_.size())).total + floor);
    for (const HoldOutParts& parts : options_.extrapolations) {
      const Cost cost = left_out_cost(selection, parts);
      if (!cost.is_clear()) return std::numeric_limits<double>::infinity();
      sum += std::log(cost.total + floor);
    }
    return static_cast<double>(empty_residuals_.size()) * sum /
           static_cast<double>(1 + options_.extrapolations.size());
  }

  // A selection with an added candidate, and the values at which its fit starts.
  struct Start {
    std::vector<std::size_t> chosen;
    std::vector<Unknown> unknowns;
    double cost = 0;
  };

  std::vector<Selection> extend(const std::vector<Selection>& survivors, std::size_t size) {
    std::vector<Start> starts;
    std::set<std::vector<std::size_t>> tried;
    for (const Selection& base : survivors)
      for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
        std::vector<std::size_t> chosen = base.chosen;
        const auto it = std::ranges::lower_bound(chosen, candidate);
        if (it != chosen.end() && *it == candidate) continue;
        chosen.insert(it, candidate);
        if (tried.insert(chosen).second)
          starts.push_back(start_of(base, std::move(chosen), candidate));
        report_progress(size, 0.5 / static_cast<double>(survivors.size() * candidates_.size()));
      }
    std::ranges::stable_sort(starts, {}, &Start::cost);
    starts.resize(std::min(starts.size(), max_fitted));

    std::vector<Selection> results;
    for (const Start& base : starts) {
      results.push_back(fit(base.chosen, base.unknowns, coarse));
      report_progress(size, 0.5 / static_cast<double>(starts.size()));
    }
    // Selections whose errors are below the rounding of measured times count as equal; more general
    // candidates, which have lower indices, then come first.
    std::ranges::sort(results, {}, &Selection::chosen);
    std::ranges::stable_sort(results, {}, [](const Selection& selection) {
      const auto rows = static_cast<double>(selection.fit.residuals.size());
      return std::max(selection.fit.cost, rows * rounding * rounding / 2);
    });
    if (results.size() > beam) results.erase(results.begin() + beam, results.end());
    for (Selection& selection : results)
      selection = fit(selection.chosen, starting_at(candidates_, selection), fine);
    return results;
  }

  void report_progress(std::size_t size, double increment) {
    if (!options_.progress) return;
    if (size != size_) done_ = 0;
    size_ = size;
    done_ += increment;
    const auto max_size =
        static_cast<double>(std::min(options_.max_parameters, candidates_.size()));
    options_.progress(std::min(1.0, (static_cast<double>(size - 1) + done_) / max_size));
  }

  Selection fit(std::vector<std::size_t> chosen, std::span<const Unknown> unknowns,
                double tolerance) const {
    const Residuals chosen_residuals = [&](std::span<const double> x) {
      return residuals_(chosen, x);
    };
    Selection result{.chosen = chosen, .fit = least_squares(chosen_residuals, unknowns, tolerance)};
    // The default weight of the prior suits rows with typical scatter. Rows with much less scatter,
    // such as simulated ones, get more weight relative to the file's values.
    constexpr double exact = 0.01;
    if (median_miss(result.fit) > exact) return result;
    constexpr double weak = 0.05;
    result.prior_factor = weak;
    result.fit = least_squares(chosen_residuals, starting_at(candidates_, result), tolerance);
    return result;
  }

  // Finds starting values for a selection with an added candidate: several values of the added one
  // with the others unchanged, or all moved by one Gauss-Newton step, whichever costs least.
  Start start_of(const Selection& from, std::vector<std::size_t> chosen, std::size_t added) const {
    Start best{std::move(chosen), {}, from.fit.cost};
    std::vector<double> values;
    std::size_t added_index = 0;
    for (std::size_t i = 0, old_index = 0; i < best.chosen.size(); ++i) {
      best.unknowns.push_back(candidates_[best.chosen[i]]);
      if (best.chosen[i] == added)
        added_index = i;
      else
        best.unknowns.back().start = from.fit.unknowns[old_index++];
      values.push_back(best.unknowns.back().start);
    }
    const auto try_values = [&](const std::vector<double>& point) {
      double cost = 0;
      for (const double residual : residuals_(best.chosen, point)) cost += robust_loss(residual);
      if (cost >= best.cost) return;
      best.cost = cost;
      for (std::size_t i = 0; i < point.size(); ++i) best.unknowns[i].start = point[i];
    };
    const std::vector<double> origin = values;
    const std::vector<double> stepped = gauss_newton_step(from, best, origin, added_index);
    constexpr std::array<double, 6> shifts{-2.5, -1.2, -0.5, 0.5, 1.2, 2.5};
    for (const double shift : shifts) {
      values[added_index] =
          std::clamp(origin[added_index] + shift, best.unknowns[added_index].minimum,
                     best.unknowns[added_index].maximum);
      try_values(values);
    }
    try_values(stepped);
    return best;
  }

  // Returns all values after one Gauss-Newton step from the fit without the added candidate.
  std::vector<double> gauss_newton_step(const Selection& from, const Start& start,
                                        std::vector<double> values, std::size_t added_index) const {
    constexpr double step = 1e-4;
    const Unknown& added = start.unknowns[added_index];
    const double sign = added.start + step > added.maximum ? -1 : 1;
    values[added_index] += sign * step;
    const std::vector<double> nearby = residuals_(start.chosen, values);
    values[added_index] = added.start;
    Matrix slopes{nearby.size(), values.size()};
    std::vector<double> misses(nearby.size());
    for (std::size_t row = 0; row < nearby.size(); ++row) {
      const double root = std::sqrt(from.fit.weights[row]);
      misses[row] = -root * from.fit.residuals[row];
      for (std::size_t i = 0, old_index = 0; i < values.size(); ++i)
        slopes(row, i) =
            root * (i == added_index ? sign * (nearby[row] - from.fit.residuals[row]) / step
                                     : from.fit.jacobian(row, old_index++));
    }
    const std::vector<double> steps = nearest_multiples(slopes, misses);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::clamp(values[i] + std::clamp(steps[i], -1.0, 1.0), start.unknowns[i].minimum,
                             start.unknowns[i].maximum);
    return values;
  }

  const ChoiceResiduals& residuals_;
  std::span<const Unknown> candidates_;
  const SelectionOptions& options_;
  std::vector<double> empty_residuals_;  // residual of each row for the empty choice
  std::size_t size_ = 0;
  double done_ = 0;  // finished fraction of the current size
};

}  // namespace

Selection select(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const SelectionOptions& options) {
  return BeamSearch(residuals, candidates, options).run();
}

Selection refine(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const Selection& selection) {
  if (selection.chosen.empty()) return selection;
  const Residuals chosen_residuals = [&](std::span<const double> x) {
    return residuals(selection.chosen, x);
  };
  constexpr int more_starts = 4;
  Selection refined = selection;
  refined.fit =
      least_squares_from_many(chosen_residuals, starting_at(candidates, selection), more_starts);
  return refined;
}

Selection fit_chosen(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                     std::vector<std::size_t> chosen) {
  Selection initial{.chosen = std::move(chosen), .fit = {}};
  for (const std::size_t candidate : initial.chosen)
    initial.fit.unknowns.push_back(candidates[candidate].start);
  return refine(residuals, candidates, initial);
}

}  // namespace pipewright::comm
