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
// Measured times are printed with three or four digits: to fit them better is to fit nothing.
constexpr double rounding = 1e-3;

class Search {
 public:
  Search(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
         const SelectionOptions& options)
      : residuals_(residuals), candidates_(candidates), options_(options) {}

  Selection run() {
    std::vector<Selection> kept{none()};
    Selection best = kept.front();
    double best_score = score(best);
    const std::size_t most = std::min(options_.most, candidates_.size());
    for (std::size_t size = 1; size <= most; ++size) {
      kept = extend(kept, size, most);
      if (kept.empty()) break;
      for (const Selection& one : kept) {
        // Akaike's criterion, of which a left-out cost is the equal for large samples (Stone 1977),
        // takes differences below 2 for nothing (Burnham and Anderson 2002, section 2.6).
        constexpr double clearly = 2;
        const double found = score(one);
        const double needed = one.chosen.size() > best.chosen.size() ? clearly : 0;
        if (found >= best_score - needed) continue;
        best = one;
        best_score = found;
      }
    }
    return best;
  }

 private:
  Selection none() const {
    LeastSquares fit;
    fit.residuals = residuals_({}, {});
    fit.weights.assign(fit.residuals.size(), 1);
    fit.jacobian = Matrix(fit.residuals.size(), 0);
    for (const double residual : fit.residuals) fit.cost += robust_loss(residual);
    return {{}, std::move(fit)};
  }

  static double score(const Selection& one) {
    const auto rows = static_cast<double>(one.fit.residuals.size());
    return rows * std::log(one.fit.left_out_cost() / rows + rounding * rounding / 2);
  }

  std::vector<Selection> extend(const std::vector<Selection>& kept, std::size_t size,
                                std::size_t most) {
    std::vector<Selection> found;
    std::set<std::vector<std::size_t>> tried;
    double done = 0;
    for (const Selection& one : kept)
      for (std::size_t candidate = 0; candidate < candidates_.size(); ++candidate) {
        done += 1 / static_cast<double>(kept.size() * candidates_.size());
        if (options_.progress)
          options_.progress((static_cast<double>(size - 1) + done) / static_cast<double>(most));
        std::vector<std::size_t> chosen = one.chosen;
        const auto place = std::ranges::lower_bound(chosen, candidate);
        if (place != chosen.end() && *place == candidate) continue;
        chosen.insert(place, candidate);
        if (!tried.insert(chosen).second) continue;
        Selection next = fit_extended(one, std::move(chosen), candidate);
        if (next.fit.cost < one.fit.cost) found.push_back(std::move(next));
      }
    std::ranges::stable_sort(found, {}, [](const Selection& one) { return one.fit.cost; });
    if (found.size() > beam) found.erase(found.begin() + beam, found.end());
    return found;
  }

  // From what the others are, and the best of several places for the new one.
  Selection fit_extended(const Selection& from, std::vector<std::size_t> chosen,
                         std::size_t added) const {
    std::vector<Unknown> unknowns;
    std::vector<double> values;
    std::size_t place = 0;
    for (std::size_t i = 0, old = 0; i < chosen.size(); ++i) {
      unknowns.push_back(candidates_[chosen[i]]);
      if (chosen[i] == added)
        place = i;
      else
        unknowns.back().start = from.fit.unknowns[old++];
      values.push_back(unknowns.back().start);
    }
    constexpr std::array<double, 8> ways{-3, -2, -1, -0.4, 0.4, 1, 2, 3};
    double least = from.fit.cost;
    const double start = unknowns[place].start;
    for (const double way : ways) {
      values[place] = std::clamp(start + way, unknowns[place].least, unknowns[place].most);
      double cost = 0;
      for (const double residual : residuals_(chosen, values)) cost += robust_loss(residual);
      if (cost >= least) continue;
      least = cost;
      unknowns[place].start = values[place];
    }
    const Residuals of_chosen = [&](std::span<const double> x) { return residuals_(chosen, x); };
    LeastSquares fit = least_squares(of_chosen, unknowns);
    return {std::move(chosen), std::move(fit)};
  }

  const ChoiceResiduals& residuals_;
  std::span<const Unknown> candidates_;
  const SelectionOptions& options_;
};

}  // namespace

Selection select(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const SelectionOptions& options) {
  return Search(residuals, candidates, options).run();
}

Selection refine(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                 const Selection& selection) {
  if (selection.chosen.empty()) return selection;
  std::vector<Unknown> unknowns;
  for (std::size_t i = 0; i < selection.chosen.size(); ++i) {
    unknowns.push_back(candidates[selection.chosen[i]]);
    unknowns.back().start = selection.fit.unknowns[i];
  }
  const Residuals of_chosen = [&](std::span<const double> x) {
    return residuals(selection.chosen, x);
  };
  constexpr int more_starts = 6;
  return {selection.chosen, least_squares_from_many(of_chosen, unknowns, more_starts)};
}

Selection fit_chosen(const ChoiceResiduals& residuals, std::span<const Unknown> candidates,
                     std::vector<std::size_t> chosen) {
  Selection at_start{std::move(chosen), {}};
  for (const std::size_t candidate : at_start.chosen)
    at_start.fit.unknowns.push_back(candidates[candidate].start);
  return refine(residuals, candidates, at_start);
}

}  // namespace pipewright::comm
