#include "sim/search/journal.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
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
#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

using analysis::CandidateRow;
using nlohmann::json;

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string quoted(std::string_view line, bool there) {
  return there ? config::in_quotes(line) : std::string("nothing");
}

// The first line in which two sweeps differ.
std::string difference(std::string_view found, std::string_view asked) {
  for (int number = 1;; ++number) {
    const bool more_found = !found.empty();
    const bool more_asked = !asked.empty();
    const std::string_view one = take_line(found);
    const std::string_view other = take_line(asked);
    if (one != other || more_found != more_asked)
      return fmt::format("line {} of that sweep is {}, of this one {}", number,
                         quoted(one, more_found), quoted(other, more_asked));
  }
}

std::string list(const std::vector<std::string>& values) {
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
  if (value.at("pipewright_search") != 1)
    throw std::runtime_error("it was written by a later version");
  SearchIdentity identity{.sweep = value.at("sweep"), .axes = {}};
  for (const json& axis : value.at("axes"))
    identity.axes.push_back({.key = axis.at("key"), .name = {}, .values = axis.at("values")});
  return identity;
}

// Throws trace::TraceError, which says where `found` in `file` is another search than `asked`.
void check_same_search(const std::filesystem::path& file, const SearchIdentity& found,
                       const SearchIdentity& asked) {
  const auto refuse = [&](const std::string& why) {
    throw trace::TraceError(fmt::format(
        "{}: these are the results of another sweep: {}; resume with the sweep that they are of, "
        "or give this one other results",
        file.string(), why));
  };
  if (found.sweep != asked.sweep) refuse(difference(found.sweep, asked.sweep));
  // `auto` depends on the cluster, which is another file.
  const std::size_t count = std::max(found.axes.size(), asked.axes.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= found.axes.size() || i >= asked.axes.size()) refuse("it leaves other values open");
    const analysis::SearchAxis& was = found.axes[i];
    const analysis::SearchAxis& is = asked.axes[i];
    if (was.key != is.key || was.values != is.values)
      refuse(fmt::format("the values of {} were {}, and are {} of {}", config::shown(was.key),
                         list(was.values), list(is.values), config::shown(is.key)));
  }
}

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

Journal::Journal(const std::filesystem::path& path, const SearchIdentity& identity)
    : lines_(path,
             {.busy = "another search writes its results here; wait for its end, or give this one "
                      "other results",
              .too_long = "a line is too long for a journal of a search",
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
                 throw trace::TraceError(fmt::format("{}:{}: no journal of a search: {}",
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
      fmt::format("a search that did not end has left {} finished candidates here; go on with it "
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
                                       const SearchIdentity& asked) {
  std::vector<CandidateRow> rows = rows_of(results, journal, asked);
  std::ranges::move(journal.take_rows(), std::back_inserter(rows));
  // Of several, the last: the journal's.
  std::ranges::stable_sort(rows, {}, &CandidateRow::candidate);
  const auto same = [](const CandidateRow& one, const CandidateRow& other) {
    return one.candidate == other.candidate;
  };
  rows.erase(rows.begin(), std::unique(rows.rbegin(), rows.rend(), same).base());
  return rows;
}

}  // namespace pipewright::search
