#include "sim/search/best_known.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/front.hpp"
#include "sim/search/why_not.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;
using analysis::Outcome;
using analysis::SearchRun;

// Returns at most `count` rows that are not simulated and whose lower bound of the cost is below
// the cost of the last of the best `count` simulated rows, in ascending order of bounds.
std::vector<std::size_t> contenders(const SearchRun& run, std::size_t count) {
  const std::vector<std::size_t> best = best_rows(run, count);
  const double last = best.size() < count ? std::numeric_limits<double>::infinity()
                                          : cost_of(run, run.rows[best.back()]);
  std::vector<std::pair<double, std::size_t>> open;
  for (std::size_t row = 0; row < run.rows.size(); ++row) {
    const Outcome outcome = run.rows[row].outcome;
    if (outcome != Outcome::open && outcome != Outcome::bounded_away) continue;
    const double cost = cost_of(run, run.rows[row]);
    if (cost < last) open.emplace_back(cost, row);
  }
  std::ranges::sort(open);
  std::vector<std::size_t> rows;
  for (const auto& [cost, row] : open)
    if (rows.size() < count) rows.push_back(row);
  return rows;
}

// Simulates only the given rows: all other rows get an outcome that needs no further work.
SearchRun simulate_rows(const SearchRun& run, const std::vector<std::size_t>& rows,
                        const Space& space, Workers& workers, SearchOptions options,
                        const SearchCalls& calls) {
  SearchRun restricted = run;
  for (std::size_t row = 0; row < restricted.rows.size(); ++row) {
    const bool is_contender = std::ranges::count(rows, row) > 0;
    restricted.rows[row].outcome = is_contender ? Outcome::bounded_away : Outcome::illegal;
  }
  options.target.exhaustive = true;
  return search_part(restricted, space, workers, options, calls);
}

}  // namespace

std::vector<std::size_t> best_rows(const SearchRun& run, std::size_t count) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : analysis::find(run).ranked) {
    if (rows.size() == count || !std::isfinite(cost_of(run, run.rows[row]))) break;
    if (rows.empty() || !analysis::are_equivalent(run.rows[rows.back()], run.rows[row]))
      rows.push_back(row);
  }
  return rows;
}

void prove_best(SearchRun& run, const Space& space, std::size_t count, Workers& workers,
                const SearchOptions& options, const SearchCalls& calls) {
  if (!run.finished) return;  // candidates that were not assessed may be better anyway
  while (!(calls.interrupted && calls.interrupted())) {
    const std::vector<std::size_t> rows = contenders(run, count);
    if (rows.empty()) return;
    const SearchRun simulated = simulate_rows(run, rows, space, workers, options, calls);
    bool has_progress = false;
    for (const std::size_t row : rows) {
      const auto it = std::ranges::lower_bound(simulated.rows, run.rows[row].candidate, {},
                                               &CandidateRow::candidate);
      const bool is_final = it != simulated.rows.end() &&
                            it->candidate == run.rows[row].candidate &&
                            it->outcome != Outcome::bounded_away && it->outcome != Outcome::open;
      if (is_final) run.rows[row] = *it;
      has_progress = has_progress || is_final;
    }
    if (!has_progress) return;
  }
}

}  // namespace pipewright::search
