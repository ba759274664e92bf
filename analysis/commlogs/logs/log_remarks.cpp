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
  constexpr double noise = 0.01;  // Times are printed with three digits.
  std::array<const Measurement*, 2> previous_rows{};
  const Measurement* largest_drop = nullptr;
  const Measurement* row_before_drop = nullptr;
  double smallest_ratio = 1;  // Time divided by the previous time.
  std::size_t drops = 0;
  for (const Measurement& row : rows) {
    const Measurement* const previous = std::exchange(previous_rows.at(row.in_place ? 1 : 0), &row);
    if (previous == nullptr || row.bytes <= previous->bytes || row.type != previous->type ||
        row.seconds >= previous->seconds * (1 - noise))
      continue;
    ++drops;
    if (row.seconds / previous->seconds < smallest_ratio) {
      smallest_ratio = row.seconds / previous->seconds;
      largest_drop = &row;
      row_before_drop = previous;
    }
  }
  if (largest_drop == nullptr) return;
  std::string text = fmt::format("{} B take {}, but {} B take {}{}", largest_drop->bytes,
                                 format_seconds(largest_drop->seconds), row_before_drop->bytes,
                                 format_seconds(row_before_drop->seconds),
                                 largest_drop->in_place ? ", in place" : "");
  if (drops > 1) text += fmt::format("; the largest of {} such drops in this table", drops);
  remarks.push_back({largest_drop->file, largest_drop->line, std::move(text)});
}

void merge_equal_remarks(std::vector<LogRemark>& remarks, std::size_t first) {
  std::map<std::string, std::size_t> positions;  // Position of each text in `merged`.
  std::vector<std::size_t> repeated;
  std::vector<LogRemark> merged;
  for (std::size_t i = first; i < remarks.size(); ++i) {
    const auto [entry, is_new] = positions.try_emplace(remarks[i].text, merged.size());
    if (is_new) {
      merged.push_back(std::move(remarks[i]));
      repeated.push_back(0);
    } else {
      ++repeated[entry->second];
    }
  }
  remarks.resize(first);
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (repeated[i] > 0)
      merged[i].text +=
          fmt::format(" (also at {} more {})", repeated[i], repeated[i] == 1 ? "place" : "places");
    remarks.push_back(std::move(merged[i]));
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
  // Names of operations in file names. Each match is blanked out before the next name is tried, so
  // a longer name must precede the names that it contains.
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
  std::optional<Operation> match;
  for (const auto& [word, operation] : words)
    for (std::size_t position = letters.find(word); position != std::string::npos;
         position = letters.find(word)) {
      if (match && *match != operation) return std::nullopt;
      match = operation;
      letters.replace(position, word.size(), " ");
    }
  return match;
}

void LogFile::remark(int line, std::string text) {
  log.remarks.push_back({name, line, std::move(text)});
}

void LogFile::leave_out(const UnusableTable& table) {
  remark(table.line, "the table is left out: " + table.reason);
  if (!unusable_table) unusable_table = table;
}

void RowTally::add(const std::string& remark, int line) {
  Rows& rows = rows_[remark];
  if (rows.count++ == 0) rows.first = line;
}

void RowTally::append_to(std::vector<LogRemark>& remarks, const std::string& file) const {
  for (const auto& [remark, rows] : rows_) {
    const std::string subject =
        rows.count == 1 ? "this row" : fmt::format("{} rows, first this one", rows.count);
    remarks.push_back({file, rows.first, fmt::format("{}: {}", subject, remark)});
  }
}

}  // namespace pipewright::analysis
