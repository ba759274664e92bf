#include "analysis/commlogs/logs/log_remarks.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {

void remark_falling_times(std::span<const Measurement> rows, std::vector<LogRemark>& remarks) {
  constexpr double noise = 0.01;  // times are printed with three digits
  std::array<const Measurement*, 2> before{};
  const Measurement* deepest = nullptr;
  const Measurement* deepest_before = nullptr;
  double depth = 1;  // time / time before it
  std::size_t falls = 0;
  for (const Measurement& row : rows) {
    const Measurement* const last = std::exchange(before.at(row.in_place ? 1 : 0), &row);
    if (last == nullptr || row.bytes <= last->bytes || row.type != last->type ||
        row.seconds >= last->seconds * (1 - noise))
      continue;
    ++falls;
    if (row.seconds / last->seconds < depth) {
      depth = row.seconds / last->seconds;
      deepest = &row;
      deepest_before = last;
    }
  }
  if (deepest == nullptr) return;
  std::string text =
      fmt::format("{} B take {}, less than {} B with {}{}", deepest->bytes,
                  format_seconds(deepest->seconds), deepest_before->bytes,
                  format_seconds(deepest_before->seconds), deepest->in_place ? ", in place" : "");
  if (falls > 1) text += fmt::format("; the deepest of {} such falls of this table", falls);
  remarks.push_back({deepest->file, deepest->line, std::move(text)});
}

void merge_equal_remarks(std::vector<LogRemark>& remarks, std::size_t first) {
  std::map<std::string, std::size_t> places;  // among the ones that are left
  std::vector<std::size_t> repeated;
  std::vector<LogRemark> left;
  for (std::size_t i = first; i < remarks.size(); ++i) {
    const auto [at, is_new] = places.try_emplace(remarks[i].text, left.size());
    if (is_new) {
      left.push_back(std::move(remarks[i]));
      repeated.push_back(0);
    } else {
      ++repeated[at->second];
    }
  }
  remarks.resize(first);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (repeated[i] > 0)
      left[i].text += fmt::format(" (likewise at {} more {})", repeated[i],
                                  repeated[i] == 1 ? "place" : "places");
    remarks.push_back(std::move(left[i]));
  }
}

std::optional<Operation> operation_in_name(const std::string& file) {
  std::string letters;
  for (const char c : std::filesystem::path(file).filename().string())
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  struct Word {
    std::string_view word;
    Operation operation;
  };
  using enum Operation;
  // Those that hold others stand before them.
  static constexpr std::array<Word, 11> words{{{"allreduce", all_reduce},
                                               {"allgather", all_gather},
                                               {"reducescatter", reduce_scatter},
                                               {"alltoall", all_to_all},
                                               {"all2all", all_to_all},
                                               {"broadcast", broadcast},
                                               {"bcast", broadcast},
                                               {"sendrecv", send_recv},
                                               {"reduce", reduce},
                                               {"gather", gather},
                                               {"scatter", scatter}}};
  std::optional<Operation> found;
  for (const auto& [word, operation] : words)
    for (std::size_t at = letters.find(word); at != std::string::npos; at = letters.find(word)) {
      if (found && *found != operation) return std::nullopt;
      found = operation;
      letters.replace(at, word.size(), " ");
    }
  return found;
}

void LogFile::remark(int line, std::string text) {
  log.remarks.push_back({name, line, std::move(text)});
}

void LogFile::leave_out(const Unusable& table) {
  remark(table.line, "the table is left out: " + table.why);
  if (!unusable) unusable = table;
}

void RowTally::add(const std::string& what, int line) {
  Rows& rows = rows_[what];
  if (rows.count++ == 0) rows.first = line;
}

void RowTally::append_to(std::vector<LogRemark>& remarks, const std::string& file) const {
  for (const auto& [what, rows] : rows_) {
    const std::string which =
        rows.count == 1 ? "this row" : fmt::format("{} rows, this one first,", rows.count);
    remarks.push_back({file, rows.first, fmt::format("{} {}", which, what)});
  }
}

}  // namespace pipewright::analysis
