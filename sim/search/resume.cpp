#include "sim/search/resume.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "analysis/search/results.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;

std::vector<CandidateRow> rows_of(const std::filesystem::path& results, const Journal& journal,
                                  const SearchIdentity& asked) {
  if (!std::filesystem::exists(results)) return {};
  analysis::SearchRun run = analysis::read_results(results);
  const SearchIdentity found{.sweep = std::move(run.sweep), .axes = std::move(run.axes)};
  try {
    check_same_search(results, found, asked);
  } catch (const trace::TraceError&) {
    // A journal is of a later search, which would have replaced these results at its end.
    if (journal.is_new()) throw;
    return {};
  }
  return std::move(run.rows);
}

}  // namespace

std::vector<CandidateRow> earlier_rows(const std::filesystem::path& results, Journal& journal,
                                       const Space& space) {
  std::vector<CandidateRow> rows =
      rows_of(results, journal, {.sweep = space.sweep().text, .axes = space.axes()});
  std::ranges::move(journal.take_rows(), std::back_inserter(rows));
  // Of several, the last: the journal's.
  std::ranges::stable_sort(rows, {}, &CandidateRow::candidate);
  const auto same = [](const CandidateRow& one, const CandidateRow& other) {
    return one.candidate == other.candidate;
  };
  rows.erase(rows.begin(), std::unique(rows.rbegin(), rows.rend(), same).base());
  for (const CandidateRow& row : rows)
    if (static_cast<double>(row.candidate) >= space.combinations() ||
        row.group != space.group(row.candidate / space.schedules()))
      throw trace::TraceError(
          fmt::format("{}: candidate {} is none of this sweep", results.string(), row.candidate));
  return rows;
}

}  // namespace pipewright::search
