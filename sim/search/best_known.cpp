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

// Rows that may be among the best, those of the best bounds first, and no more than `count`.
std::vector<std::size_t> hopes(const SearchRun& run, std::size_t count) {
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

// Simulates these alone: all others have an outcome that nothing follows from.
SearchRun simulated(const SearchRun& run, const std::vector<std::size_t>& rows, const Space& space,
                    Workers& workers, SearchOptions options, const SearchCalls& calls) {
  SearchRun asked = run;
  for (std::size_t row = 0; row < asked.rows.size(); ++row) {
    const bool wanted = std::ranges::count(rows, row) > 0;
    asked.rows[row].outcome = wanted ? Outcome::bounded_away : Outcome::illegal;
  }
  options.aim.exhaustive = true;
  return search_part(asked, space, workers, options, calls);
}

}  // namespace

std::vector<std::size_t> best_rows(const SearchRun& run, std::size_t count) {
  std::vector<std::size_t> rows;
  for (const std::size_t row : analysis::find(run).ranked) {
    if (rows.size() == count || !std::isfinite(cost_of(run, run.rows[row]))) break;
    if (rows.empty() || !analysis::are_twins(run.rows[rows.back()], run.rows[row]))
      rows.push_back(row);
  }
  return rows;
}

void know_best(SearchRun& run, const Space& space, std::size_t count, Workers& workers,
               const SearchOptions& options, const SearchCalls& calls) {
  if (!run.finished) return;  // candidates that were not looked at may be better anyway
  while (!(calls.interrupted && calls.interrupted())) {
    const std::vector<std::size_t> rows = hopes(run, count);
    if (rows.empty()) return;
    const SearchRun found = simulated(run, rows, space, workers, options, calls);
    bool is_new = false;
    for (const std::size_t row : rows) {
      const auto at = std::ranges::lower_bound(found.rows, run.rows[row].candidate, {},
                                               &CandidateRow::candidate);
      const bool is_known = at != found.rows.end() && at->candidate == run.rows[row].candidate &&
                            at->outcome != Outcome::bounded_away && at->outcome != Outcome::open;
      if (is_known) run.rows[row] = *at;
      is_new = is_new || is_known;
    }
    if (!is_new) return;
  }
}

}  // namespace pipewright::search
