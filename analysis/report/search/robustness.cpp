#include "analysis/report/search/robustness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/statistics.hpp"

namespace pipewright::analysis {
namespace {

constexpr double low_quantile = 0.05;
constexpr double high_quantile = 0.95;

// Returns the interval from the 5th to the 95th percentile of the values.
Range central_interval(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {quantile(values, low_quantile), quantile(values, high_quantile)};
}

// Cost of each compared candidate (outer index) under each draw of conditions (inner index).
using Costs = std::vector<std::vector<double>>;

Costs costs_of(const SearchRun& run, const Robustness& robust, bool with_error) {
  Costs costs;
  for (const RobustRow& robust_row : robust.rows) {
    const CandidateRow& row = run.rows[robust_row.row];
    std::vector<double>& row_costs = costs.emplace_back();
    for (std::size_t draw = 0; draw < robust_row.seconds.size(); ++draw) {
      const double seconds =
          robust_row.seconds[draw] * (with_error ? robust_row.own_error[draw] : 1);
      row_costs.push_back(seconds > 0 ? cost(run.objective, row.work, seconds, row.peak_bytes)
                                      : std::numeric_limits<double>::infinity());
    }
  }
  return costs;
}

std::vector<Standing> standings_of(const Objective& objective, const Costs& costs) {
  std::vector<Standing> standings(costs.size());
  if (costs.empty()) return standings;
  const std::size_t draws = costs.front().size();
  std::vector<std::vector<double>> differences(costs.size());
  for (std::size_t draw = 0; draw < draws; ++draw) {
    double draw_best = std::numeric_limits<double>::infinity();
    for (const auto& row : costs) draw_best = std::min(draw_best, row[draw]);
    const auto winners = static_cast<double>(
        std::ranges::count_if(costs, [&](const auto& row) { return row[draw] == draw_best; }));
    for (std::size_t row = 0; row < costs.size(); ++row) {
      const double row_cost = costs[row][draw];
      if (row_cost == draw_best && std::isfinite(row_cost))
        standings[row].wins += 1 / winners / static_cast<double>(draws);
      const double best_cost = costs.front()[draw];
      if (!std::isfinite(row_cost) || !std::isfinite(best_cost)) continue;  // failed simulation
      standings[row].worst =
          std::max(standings[row].worst, relative_loss(objective, row_cost, draw_best));
      differences[row].push_back(relative_loss(objective, row_cost, best_cost));
    }
  }
  for (std::size_t row = 0; row < costs.size(); ++row)
    standings[row].behind = central_interval(differences[row]);
  return standings;
}

}  // namespace

std::vector<RobustStanding> standings(const SearchRun& run, const Robustness& robust) {
  const std::vector<Standing> conditions =
      standings_of(run.objective, costs_of(run, robust, false));
  const std::vector<Standing> with_error = standings_of(run.objective, costs_of(run, robust, true));
  std::vector<RobustStanding> robust_standings;
  for (std::size_t i = 0; i < robust.rows.size(); ++i) {
    const RobustRow& row = robust.rows[i];
    std::vector<double> seconds;
    for (std::size_t draw = 0; draw < row.seconds.size(); ++draw)
      if (row.seconds[draw] > 0) seconds.push_back(row.seconds[draw] * row.whole_error[draw]);
    robust_standings.push_back({conditions[i], with_error[i], central_interval(seconds)});
  }
  return robust_standings;
}

Verdict verdict_of(const Robustness& robust, const std::vector<RobustStanding>& standings) {
  Verdict verdict;
  if (robust.settings.draws == 0) return verdict;
  for (std::size_t i = 1; i < standings.size(); ++i) {
    const Standing& standing = robust.error ? standings[i].with_error : standings[i].conditions;
    if (standing.behind.most < 0) verdict.better.push_back(i);
    if (standing.is_tie()) verdict.ties.push_back(i);
  }
  return verdict;
}

}  // namespace pipewright::analysis
