#include "sim/search/journal.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "analysis/report/search/results.hpp"
#include "analysis/report/search/row_json.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/trace/error.hpp"
#include "sim/base/line_difference.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;
using nlohmann::json;

std::string quoted_or_nothing(const std::optional<std::string_view>& line) {
  return line ? config::in_quotes(*line) : std::string("nothing");
}

// Describes the first line in which two different sweep texts differ.
std::string difference_of_sweeps(std::string_view stored, std::string_view requested) {
  const base::LineDifference lines =
      base::first_difference(stored, requested).value_or(base::LineDifference{});
  return fmt::format("line {} of that sweep is {}, of this sweep {}", lines.number,
                     quoted_or_nothing(lines.left), quoted_or_nothing(lines.right));
}

std::string joined_values(const std::vector<std::string>& values) {
  return config::shown(fmt::format("{}", fmt::join(values, ", ")));
}

std::string first_line(const SearchIdentity& identity) {
  json axes = json::array();
  for (const analysis::SearchAxis& axis : identity.axes)
    axes.push_back({{"key", axis.key}, {"values", axis.values}});
  return json{{"pipewright_search", 1}, {"sweep", identity.sweep}, {"axes", axes}}.dump(
             -1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

SearchIdentity identity_of(const std::string& line) {
  const json value = json::parse(line);
  if (value.at("pipewright_search") != 1) throw std::runtime_error("a later version wrote it");
  SearchIdentity identity{.sweep = value.at("sweep"), .axes = {}};
  for (const json& axis : value.at("axes"))
    identity.axes.push_back({.key = axis.at("key"), .name = {}, .values = axis.at("values")});
  return identity;
}

// Throws trace::TraceError, which describes the difference, if `file` belongs to another search
// than the requested one.
void check_same_search(const std::filesystem::path& file, const SearchIdentity& stored,
                       const SearchIdentity& requested) {
  const auto refuse = [&](const std::string& why) {
    throw trace::TraceError(fmt::format(
        "{}: these are the results of another sweep: {}; resume with the sweep of these results, "
        "or choose another file of results",
        file.string(), why));
  };
  if (stored.sweep != requested.sweep) refuse(difference_of_sweeps(stored.sweep, requested.sweep));
  // The values that `auto` stands for depend on the cluster, whose file may have changed since, so
  // compare the values too.
  const std::size_t count = std::max(stored.axes.size(), requested.axes.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= stored.axes.size() || i >= requested.axes.size()) refuse("it has other axes");
    const analysis::SearchAxis& before = stored.axes[i];
    const analysis::SearchAxis& now = requested.axes[i];
    if (before.key != now.key || before.values != now.values)
      refuse(fmt::format("the values of {} were {}; those of {} are {}", config::shown(before.key),
                         joined_values(before.values), config::shown(now.key),
                         joined_values(now.values)));
  }
}

std::vector<CandidateRow> rows_of_results(const std::filesystem::path& results,
                                          const Journal& journal, const SearchIdentity& requested) {
  if (!std::filesystem::exists(results)) return {};
  analysis::SearchRun run = analysis::read_results(results);
  const SearchIdentity stored{.sweep = std::move(run.sweep), .axes = std::move(run.axes)};
  try {
    check_same_search(results, stored, requested);
  } catch (const trace::TraceError&) {
    // A journal with rows belongs to a search that started after these results were written and
    // would have replaced them, so the results are ignored.
    if (journal.is_new()) throw;
    return {};
  }
  return std::move(run.rows);
}

}  // namespace

Journal::Journal(const std::filesystem::path& path, const SearchIdentity& identity)
    : lines_(path,
             {.busy = "another search is writing its results here; wait for its end, or choose "
                      "another file of results",
              .too_long = "a line is too long for the journal of a search",
              .fail = [](const std::string& message) { throw trace::TraceError(message); }},
             [&](std::size_t number, const std::string& line) {
               try {
                 if (number == 1)
                   check_same_search(path, identity_of(line), identity);
                 else
                   rows_.push_back(analysis::row_of_json(line));
               } catch (const trace::TraceError& error) {
                 if (number == 1) throw;
                 throw trace::TraceError(
                     fmt::format("{}:{}: {}", path.string(), number, error.what()));
               } catch (const std::exception& error) {
                 throw trace::TraceError(fmt::format("{}:{}: not the journal of a search: {}",
                                                     path.string(), number, error.what()));
               }
             }),
      is_new_(lines_.is_empty()) {
  if (is_new_) lines_.append(first_line(identity));
}

std::vector<analysis::CandidateRow> Journal::take_rows() { return std::exchange(rows_, {}); }

void Journal::check_empty() const {
  if (rows_.empty()) return;
  lines_.fail(
      fmt::format("an unfinished search has left {} finished candidates here; continue it "
                  "(--resume), or remove this file",
                  rows_.size()));
}

void Journal::append(const std::vector<analysis::CandidateRow>& rows) {
  if (rows.empty()) return;
  std::string lines;
  for (const analysis::CandidateRow& row : rows) lines += analysis::to_json_line(row) += '\n';
  lines_.append(lines);
}

std::vector<CandidateRow> earlier_rows(const std::filesystem::path& results, Journal& journal,
                                       const SearchIdentity& identity) {
  std::vector<CandidateRow> rows = rows_of_results(results, journal, identity);
  std::ranges::move(journal.take_rows(), std::back_inserter(rows));
  // A candidate may have one row in the results and one in the journal: keep the last, which is
  // that of the journal.
  std::ranges::stable_sort(rows, {}, &CandidateRow::candidate);
  const auto is_same_candidate = [](const CandidateRow& lhs, const CandidateRow& rhs) {
    return lhs.candidate == rhs.candidate;
  };
  rows.erase(rows.begin(), std::unique(rows.rbegin(), rows.rend(), is_same_candidate).base());
  return rows;
}

}  // namespace pipewright::search
