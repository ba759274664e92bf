#include "sim/comm/selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace pipewright::comm {
namespace {

constexpr std::size_t beam = 3;
constexpr std::size_t promising = 9;  // choices that are fitted, of all
// Parts of the cost that a step must save: to see how good a choice is, and to say it.
constexpr double coarse = 1e-2;
constexpr double closer = 1e-4;
constexpr double fine = 1e-7;
constexpr std::size_t most_folds = 10;
// Beyond the rows that it was made to, a choice must cost half of what it costs to choose nothing,
// or less on four rows of five, as what is a little better on a few rows is as often worse on
// others. Rows that it leaves as they are do not count.
constexpr double enough = 0.5;
constexpr double most_rows = 0.8;
constexpr double untouched = 0.005;  // change of a row's logarithm
// Measured times are printed with three or four digits: to fit them better is to fit nothing.
constexpr double rounding = 1e-3;

std::vector<Unknown> starting_at(std::span<const Unknown> candidates, const Selection& selection) {
  std::vector<Unknown> unknowns;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    unknowns.push_back(candidates[selection.chosen[i]]);
    unknowns.back().start = selection.fit.unknowns[i];
    unknowns.back().pull *= selection.pull;
  }
  return unknowns;
}

double median_miss(const LeastSquares& fit) {
  std::vector<double> sizes;
  for (const double residual : fit.residuals) sizes.push_back(std::abs(residual));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::ranges::nth_element(sizes, middle);
  return *middle;
}

class BeamSearch {
 public:
  BeamSearch(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
             const SelectionOptions& options)
      : residuals_(residuals), candidates_(candidates), options_(options) {}

  Selection run() {
    std::vector<Selection> kept{none()};
    Selection best = kept.front();
    double best_score = score(best);
    const std::size_t most = std::min(options_.most, candidates_.size());
    for (std::size_t size = 1; size <= most; ++size) {
      kept = extend(kept, size);
      if (kept.empty()) break;
      // Differences below 2 are nothing (Burnham and Anderson 2002, section 2.6).
      constexpr double clearly = 2;
      for (const Selection& one : kept) {
        const double found = score(one);
        if (found >= best_score - clearly) continue;
        best = one;
        best_score = found;
      }
    }
    if (options_.progress) options_.progress(1);
    best.score = best_score;
    return best;
  }

 private:
  Selection none() const {
    LeastSquares fit;
    fit.residuals = residuals_({}, {});
    fit.weights.assign(fit.residuals.size(), 1);
    fit.jacobian = Matrix{fit.residuals.size(), 0};
    for (const double residual : fit.residuals) fit.cost += robust_loss(residual);
    return {.chosen = {}, .fit = std::move(fit)};
  }

  // What rows that were left out cost, by the row.
  struct Cost {
    double all = 0;
    // Of those that the choice predicts otherwise than to choose nothing does, and what that costs.
    double touched = 0;
    double touched_by_none = 0;
    int touched_rows = 0;
    int better_rows = 0;

    bool is_clear() const {
      if (touched <= enough * touched_by_none) return true;
      return touched <= touched_by_none && better_rows >= most_rows * touched_rows;
    }
  };

  static LeftOut in_turn(std::size_t rows) {
    LeftOut parts(std::min(rows, most_folds), std::vector<bool>(rows));
    for (std::size_t row = 0; row < rows; ++row) parts[row % parts.size()][row] = true;
    return parts;
  }

  Cost cost_left_out(const Selection& one, const LeftOut& way) const {
    Cost cost;
    double rows = 0;
    for (const std::vector<bool>& is_out : way) {
      const Residuals of_others = [&](std::span<const double> x) {
        std::vector<double> misses;
        const std::vector<double> all = residuals_(one.chosen, x);
        for (std::size_t row = 0; row < all.size(); ++row)
          if (!is_out[row]) misses.push_back(all[row]);
        return misses;
      };
      const LeastSquares others = least_squares(of_others, starting_at(candidates_, one), closer);
      const std::vector<double> all = residuals_(one.chosen, others.unknowns);
      for (std::size_t row = 0; row < all.size(); ++row) {
        if (!is_out[row]) continue;
        const double loss = robust_loss(all[row]);
        cost.all += loss;
        ++rows;
        if (std::abs(all[row] - of_none_[row]) < untouched) continue;
        cost.touched += loss;
        cost.touched_by_none += robust_loss(of_none_[row]);
        ++cost.touched_rows;
        if (loss < robust_loss(of_none_[row])) ++cost.better_rows;
      }
    }
    if (rows > 0) cost.all /= rows;
    return cost;
  }

  // Akaike's criterion but for a constant, with the cost of rows that were left out (cross
  // validation, which comes to the same for many rows: Stone, J. R. Stat. Soc. B 39 (1977) 44).
  // Of rows in turn, neighbours that are left tell nearly all, so that the ways that go beyond them
  // count as much.
  double score(const Selection& one) {
    if (one.chosen.empty()) of_none_ = one.fit.residuals;
    constexpr double floor = rounding * rounding / 2;
    double sum = std::log(cost_left_out(one, in_turn(of_none_.size())).all + floor);
    for (const LeftOut& way : options_.beyond) {
      const Cost cost = cost_left_out(one, way);
      if (!cost.is_clear()) return std::numeric_limits<double>::infinity();
      sum += std::log(cost.all + floor);
    }
    return static_cast<double>(of_none_.size()) * sum /
           static_cast<double>(1 + options_.beyond.size());
  }

  // A choice, and from where its fit begins.
  struct Start {
    std::vector<std::size_t> chosen;
    std::vector<Unknown> unknowns;
    double cost = 0;
  };

  std::vector<Selection> extend(const std::vector<Selection>& kept, std::size_t size) {
    std::vector<Start> starts;
    std::set<std::vector<std::size_t>> tried;
    for (const Selection& one : kept)
      for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
        std::vector<std::size_t> chosen = one.chosen;
        const auto place = std::ranges::lower_bound(chosen, candidate);
        if (place != chosen.end() && *place == candidate) continue;
        chosen.insert(place, candidate);
        if (tried.insert(chosen).second)
          starts.push_back(start_of(one, std::move(chosen), candidate));
        tell(size, 0.5 / static_cast<double>(kept.size() * candidates_.size()));
      }
    std::ranges::stable_sort(starts, {}, &Start::cost);
    starts.resize(std::min(starts.size(), promising));

    std::vector<Selection> found;
    for (const Start& one : starts) {
      found.push_back(fit(one.chosen, one.unknowns, coarse));
      tell(size, 0.5 / static_cast<double>(starts.size()));
    }
    // Of those that miss nothing but roundings, the one of the most general candidates: they come
    // first.
    std::ranges::sort(found, {}, &Selection::chosen);
    std::ranges::stable_sort(found, {}, [](const Selection& one) {
      const auto rows = static_cast<double>(one.fit.residuals.size());
      return std::max(one.fit.cost, rows * rounding * rounding / 2);
    });
    if (found.size() > beam) found.erase(found.begin() + beam, found.end());
    for (Selection& one : found) one = fit(one.chosen, starting_at(candidates_, one), fine);
    return found;
  }

  void tell(std::size_t size, double more) {
    if (!options_.progress) return;
    if (size != size_) done_ = 0;
    size_ = size;
    done_ += more;
    const auto most = static_cast<double>(std::min(options_.most, candidates_.size()));
    options_.progress(std::min(1.0, (static_cast<double>(size - 1) + done_) / most));
  }

  Selection fit(std::vector<std::size_t> chosen, std::span<const Unknown> unknowns,
                double least) const {
    const Residuals of_chosen = [&](std::span<const double> x) { return residuals_(chosen, x); };
    Selection found{.chosen = chosen, .fit = least_squares(of_chosen, unknowns, least)};
    // A pull is what rows of a usual scatter ask for. Rows that scatter far less, as simulated ones
    // do, are worth as much more than the file.
    constexpr double exact = 0.01;
    if (median_miss(found.fit) > exact) return found;
    constexpr double weak = 0.05;
    found.pull = weak;
    found.fit = least_squares(of_chosen, starting_at(candidates_, found), least);
    return found;
  }

  // With the new one at several places and the others as they are, or all where the slopes point
  // to: whichever is best.
  Start start_of(const Selection& from, std::vector<std::size_t> chosen, std::size_t added) const {
    Start best{std::move(chosen), {}, from.fit.cost};
    std::vector<double> values;
    std::size_t place = 0;
    for (std::size_t i = 0, old = 0; i < best.chosen.size(); ++i) {
      best.unknowns.push_back(candidates_[best.chosen[i]]);
      if (best.chosen[i] == added)
        place = i;
      else
        best.unknowns.back().start = from.fit.unknowns[old++];
      values.push_back(best.unknowns.back().start);
    }
    const auto look = [&](const std::vector<double>& at) {
      double cost = 0;
      for (const double residual : residuals_(best.chosen, at)) cost += robust_loss(residual);
      if (cost >= best.cost) return;
      best.cost = cost;
      for (std::size_t i = 0; i < at.size(); ++i) best.unknowns[i].start = at[i];
    };
    const std::vector<double> here = values;
    const std::vector<double> there = along_slopes(from, best, here, place);
    constexpr std::array<double, 6> shifts{-2.5, -1.2, -0.5, 0.5, 1.2, 2.5};
    for (const double shift : shifts) {
      values[place] =
          std::clamp(here[place] + shift, best.unknowns[place].least, best.unknowns[place].most);
      look(values);
    }
    look(there);
    return best;
  }

  // One step of Gauss and Newton.
  std::vector<double> along_slopes(const Selection& from, const Start& start,
                                   std::vector<double> values, std::size_t place) const {
    constexpr double step = 1e-4;
    const Unknown& added = start.unknowns[place];
    const double sign = added.start + step > added.most ? -1 : 1;
    values[place] += sign * step;
    const std::vector<double> near = residuals_(start.chosen, values);
    values[place] = added.start;
    Matrix slopes{near.size(), values.size()};
    std::vector<double> misses(near.size());
    for (std::size_t row = 0; row < near.size(); ++row) {
      const double root = std::sqrt(from.fit.weights[row]);
      misses[row] = -root * from.fit.residuals[row];
      for (std::size_t i = 0, old = 0; i < values.size(); ++i)
        slopes(row, i) = root * (i == place ? sign * (near[row] - from.fit.residuals[row]) / step
                                            : from.fit.jacobian(row, old++));
    }
    const std::vector<double> steps = nearest_multiples(slopes, misses);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::clamp(values[i] + std::clamp(steps[i], -1.0, 1.0), start.unknowns[i].least,
                             start.unknowns[i].most);
    return values;
  }

  const ChoiceResiduals& residuals_;
  std::span<const Unknown> candidates_;
  const SelectionOptions& options_;
  std::vector<double> of_none_;  // what each row is missed by if nothing is chosen
  std::size_t size_ = 0;
  double done_ = 0;  // of this size
};

}  // namespace

Selection select(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const SelectionOptions& options) {
  return BeamSearch(residuals, candidates, options).run();
}

Selection refine(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const Selection& selection) {
  if (selection.chosen.empty()) return selection;
  const Residuals of_chosen = [&](std::span<const double> x) {
    return residuals(selection.chosen, x);
  };
  constexpr int more_starts = 4;
  Selection refined = selection;
  refined.fit = least_squares_from_many(of_chosen, starting_at(candidates, selection), more_starts);
  return refined;
}

Selection fit_chosen(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                     std::vector<std::size_t> chosen) {
  Selection at_start{.chosen = std::move(chosen), .fit = {}};
  for (const std::size_t candidate : at_start.chosen)
    at_start.fit.unknowns.push_back(candidates[candidate].start);
  return refine(residuals, candidates, at_start);
}

}  // namespace pipewright::comm
