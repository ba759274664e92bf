#include "analysis/report/search/robustness.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/statistics.hpp"

namespace pipewright::analysis {
namespace {

constexpr double low = 0.05;
constexpr double high = 0.95;

Range interval(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {quantile(values, low), quantile(values, high)};
}

// Costs by row and draw.
using Costs = std::vector<std::vector<double>>;

Costs costs_of(const SearchRun& run, const Robustness& robust, bool with_error) {
  Costs costs;
  for (const RobustRow& one : robust.rows) {
    const CandidateRow& row = run.rows[one.row];
    std::vector<double>& all = costs.emplace_back();
    for (std::size_t draw = 0; draw < one.seconds.size(); ++draw) {
      const double seconds = one.seconds[draw] * (with_error ? one.own_error[draw] : 1);
      all.push_back(seconds > 0 ? cost(run.objective, row.work, seconds, row.peak_bytes)
                                : std::numeric_limits<double>::infinity());
    }
  }
  return costs;
}

std::vector<Standing> standings_of(const Objective& objective, const Costs& costs) {
  std::vector<Standing> all(costs.size());
  if (costs.empty()) return all;
  const std::size_t draws = costs.front().size();
  std::vector<std::vector<double>> differences(costs.size());
  for (std::size_t draw = 0; draw < draws; ++draw) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& row : costs) least = std::min(least, row[draw]);
    const auto winners = static_cast<double>(
        std::ranges::count_if(costs, [&](const auto& row) { return row[draw] == least; }));
    for (std::size_t row = 0; row < costs.size(); ++row) {
      const double own = costs[row][draw];
      if (own == least && std::isfinite(own))
        all[row].wins += 1 / winners / static_cast<double>(draws);
      const double best = costs.front()[draw];
      if (!std::isfinite(own) || !std::isfinite(best)) continue;  // a simulation failed
      all[row].worst = std::max(all[row].worst, behind(objective, own, least));
      differences[row].push_back(behind(objective, own, best));
    }
  }
  for (std::size_t row = 0; row < costs.size(); ++row) all[row].behind = interval(differences[row]);
  return all;
}

}  // namespace

std::vector<RobustStanding> standings(const SearchRun& run, const Robustness& robust) {
  const std::vector<Standing> conditions =
      standings_of(run.objective, costs_of(run, robust, false));
  const std::vector<Standing> with_error = standings_of(run.objective, costs_of(run, robust, true));
  std::vector<RobustStanding> all;
  for (std::size_t i = 0; i < robust.rows.size(); ++i) {
    const RobustRow& row = robust.rows[i];
    std::vector<double> seconds;
    for (std::size_t draw = 0; draw < row.seconds.size(); ++draw)
      if (row.seconds[draw] > 0) seconds.push_back(row.seconds[draw] * row.whole_error[draw]);
    all.push_back({conditions[i], with_error[i], interval(seconds)});
  }
  return all;
}

}  // namespace pipewright::analysis
