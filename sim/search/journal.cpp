#include "sim/search/journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/search/results.hpp"
#include "analysis/search/row_json.hpp"
#include "analysis/search/rows.hpp"
#include "analysis/trace/error.hpp"
#include "sim/config/text/value.hpp"
#include "sim/process/channel.hpp"

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

Journal::Journal(std::filesystem::path path, const SearchIdentity& identity)
    : path_(std::move(path)) {
  try {
    open_locked();
    read(identity);
    if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) fail(std::strerror(errno));
    if (size_ == 0) write_whole(first_line(identity));
  } catch (...) {
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

Journal::~Journal() { close(descriptor_); }

void Journal::fail(const std::string& why) const {
  throw trace::TraceError(fmt::format("{}: {}", path_.string(), why));
}

// The search that held the lock may have removed the file meanwhile.
void Journal::open_locked() {
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(fmt::format("cannot write: {}", std::strerror(errno)));
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
      fail(errno == EWOULDBLOCK ? "another search writes its results here; wait for its end, or "
                                  "give this one other results"
                                : std::strerror(errno));
    struct stat here {};
    struct stat there {};
    if (fstat(descriptor_, &here) == 0 && stat(path_.c_str(), &there) == 0 &&
        here.st_ino == there.st_ino && here.st_dev == there.st_dev)
      return;
    close(std::exchange(descriptor_, -1));
  }
}

void Journal::read(const SearchIdentity& identity) {
  process::LineReader lines;
  std::size_t number = 0;
  for (bool more = true; more;) {
    more = lines.read_from(descriptor_);
    if (lines.is_too_long()) fail("a line is too long for a journal of a search");
    while (const std::optional<std::string> line = lines.next()) {
      ++number;
      try {
        if (number == 1) {
          check_same_search(path_, identity_of(*line), identity);
          is_new_ = false;
        } else {
          rows_.push_back(analysis::row_of_json(*line));
        }
      } catch (const trace::TraceError& error) {
        if (number == 1) throw;
        throw trace::TraceError(fmt::format("{}:{}: {}", path_.string(), number, error.what()));
      } catch (const std::exception& error) {
        throw trace::TraceError(
            fmt::format("{}:{}: no journal of a search: {}", path_.string(), number, error.what()));
      }
      size_ += line->size() + 1;
    }
  }
}

std::vector<analysis::CandidateRow> Journal::take_rows() { return std::exchange(rows_, {}); }

void Journal::check_empty() const {
  if (rows_.empty()) return;
  fail(
      fmt::format("a search that did not end has left {} finished candidates here; go on with it "
                  "(--resume), or remove this file",
                  rows_.size()));
}

void Journal::append(const std::vector<analysis::CandidateRow>& rows) {
  if (rows.empty()) return;
  std::string lines;
  for (const analysis::CandidateRow& row : rows) lines += analysis::to_json_line(row) += '\n';
  write_whole(lines);
}

void Journal::write_whole(const std::string& lines) {
  ssize_t count = 0;
  do {
    count = write(descriptor_, lines.data(), lines.size());
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(lines.size())) {
    const int error = count < 0 ? errno : ENOSPC;
    // If this fails too, the line is torn, and is dropped when it is read.
    static_cast<void>(ftruncate(descriptor_, static_cast<off_t>(size_)) == 0);
    fail(fmt::format("cannot write: {}; what it has is whole, and --resume goes on from there",
                     std::strerror(error)));
  }
  size_ += lines.size();
}

void Journal::remove() {
  if (unlink(path_.c_str()) != 0) fail(fmt::format("cannot remove: {}", std::strerror(errno)));
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
