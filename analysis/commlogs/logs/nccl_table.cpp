#include "analysis/commlogs/logs/nccl_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr double table_microsecond = 1e-6;
constexpr double table_millisecond = 1e-3;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool starts_with_letter(std::string_view word) { return !word.empty() && is_letter(word.front()); }

std::string printable_excerpt(std::string_view word) {
  constexpr std::size_t max_length = 40;
  return printable(std::string(word.substr(0, max_length)));
}

std::uint64_t table_whole_number(std::string_view word, std::string_view column) {
  if (const auto value = parse_whole_number(word)) return *value;
  throw std::invalid_argument(fmt::format(
      "the {} {} {}", column, printable_excerpt(word),
      word.starts_with('-') ? "is below 0" : "is beyond 64 bits; the largest is 2^64 - 1"));
}

// Returns true if the printed rate is bytes / time, within the precision of both.
bool rate_fits(double bytes, const LoggedTime& time) {
  constexpr double slack = 0.01, giga = 1e9;
  const double min_seconds = std::max(time.seconds.value - time.seconds.half, 0.0);
  const double min_rate = bytes / giga / (time.seconds.value + time.seconds.half) * (1 - slack);
  const double max_rate = bytes / giga / min_seconds * (1 + slack);  // May be infinite.
  return time.algbw.value + time.algbw.half >= min_rate &&
         time.algbw.value - time.algbw.half <= max_rate;
}

// Returns true if the printed rate fits. Until 2020, tests that split the buffer among ranks
// counted only the n-1 of n parts that move, so this smaller rate also fits.
bool rate_fits(const LoggedRow& row, const LoggedTime& time) {
  if (!std::isfinite(time.algbw.value)) return true;
  const auto bytes = static_cast<double>(row.bytes);
  const double part =
      static_cast<double>(row.count) * static_cast<double>(nccl_type_bytes(row.type));
  return rate_fits(bytes, time) || (part > 0 && part < bytes && rate_fits(bytes - part, time));
}

}  // namespace

std::uint32_t nccl_type_bytes(std::string_view type) {
  struct Type {
    std::string_view name;
    std::uint32_t bytes;
  };
  static constexpr std::array<Type, 19> types{{{"float", 4},
                                               {"half", 2},
                                               {"bfloat16", 2},
                                               {"double", 8},
                                               {"int8", 1},
                                               {"uint8", 1},
                                               {"int32", 4},
                                               {"uint32", 4},
                                               {"int64", 8},
                                               {"uint64", 8},
                                               {"char", 1},
                                               {"int", 4},
                                               {"f8e4m3", 1},
                                               {"f8e5m2", 1},
                                               {"fp8_e4m3", 1},
                                               {"fp8_e5m2", 1},
                                               {"float16", 2},
                                               {"fp8e4m3", 1},
                                               {"fp8e5m2", 1}}};
  const auto match = std::ranges::find(types, type, &Type::name);
  return match == types.end() ? 0 : match->bytes;
}

NcclColumns NcclColumns::current_format() {
  static const Words words{"size",  "count",  "type", "redop", "root",  "time",  "algbw",
                           "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"};
  return *parse(words);
}

std::optional<NcclColumns> NcclColumns::parse(const Words& words) {
  NcclColumns columns;
  // `comm bench` prints a table that differs from the log that it writes.
  if (std::ranges::find(words, "formula") != words.end()) return std::nullopt;
  const auto size = std::ranges::find_if(
      words, [](std::string_view word) { return word == "size" || word == "bytes"; });
  if (size == words.end()) return std::nullopt;
  columns.logged_.milliseconds = *size == "bytes";
  bool has_rates = false;
  for (auto word = size + 1; word != words.end() && *word != "timestamp"; ++word) {
    const bool is_time = *word == "time" || *word == "cputime";
    if (is_time) {
      columns.blocks_.emplace_back();
      columns.logged_.cpu_time = columns.logged_.cpu_time || *word == "cputime";
    }
    if (columns.blocks_.empty()) {
      columns.logged_.count = columns.logged_.count || *word == "count" || *word == "N";
      columns.logged_.type = columns.logged_.type || *word == "type";
      columns.logged_.redop = columns.logged_.redop || *word == "redop" || *word == "op";
      columns.logged_.root = columns.logged_.root || *word == "root";
      continue;
    }
    Block& block = columns.blocks_.back();
    const std::size_t position = block.width++;
    if (is_time) block.time = position;
    if (*word == "algbw") block.algbw = position;
    if (*word == "busbw") block.busbw = position;
    if (*word == "#wrong" || *word == "wrong") block.counts_wrong = true;
    if (block.counts_wrong || *word == "error" || *word == "res")
      block.check = block.check.value_or(position);
    has_rates = has_rates || block.algbw || block.busbw;
  }
  if (!has_rates || columns.blocks_.size() > 2) return std::nullopt;
  return columns;
}

// Returns the index of the word with which a row of the table starts. Other text may precede the
// row on the same line if the row has a data type of NCCL.
std::optional<std::size_t> NcclColumns::row_start(const Words& words) const {
  if (words.empty()) return std::nullopt;
  constexpr std::size_t max_offset = 8;
  if (logged_.count && logged_.type)
    for (std::size_t i = 0; i + 2 < words.size() && i < max_offset; ++i)
      if (is_whole_number(words[i]) && is_whole_number(words[i + 1]) &&
          nccl_type_bytes(words[i + 2]) != 0)
        return i;
  const std::size_t leading = 1 + (logged_.count ? 1U : 0U) + (logged_.type ? 1U : 0U);
  if (words.size() <= leading || !is_whole_number(words[0])) return std::nullopt;
  if (logged_.count && !is_whole_number(words[1])) return std::nullopt;
  if (logged_.type && !starts_with_letter(words[leading - 1])) return std::nullopt;
  // Prose such as "error: -61 12 retries left" also begins with a number, but has neither a known
  // type nor a size.
  if (logged_.type && nccl_type_bytes(words[leading - 1]) == 0 && !parse_whole_number(words[0]))
    return std::nullopt;
  // A short line without a data type is taken for numbers that another program printed.
  if (!logged_.type && words.size() < leading + blocks_.front().width) return std::nullopt;
  return 0;
}

bool NcclColumns::take_times(const Words& words, std::size_t offset, LoggedRow& row,
                             LoggedTable& table) const {
  const double unit = table.columns.milliseconds ? table_millisecond : table_microsecond;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const std::size_t last_column =
        std::max({block.time, block.algbw.value_or(0), block.busbw.value_or(0)});
    if (offset + last_column >= words.size()) return false;
    const auto number = [&](std::optional<std::size_t> position) {
      return position ? parse_printed(words[offset + *position]) : PrintedNumber{std::nan(""), 0};
    };
    const auto time = number(block.time), algbw = number(block.algbw), busbw = number(block.busbw);
    if (!time || !algbw || !busbw) return false;
    if (time->value < 0)
      throw std::invalid_argument(
          fmt::format("the time {} is below 0", printable_excerpt(words[offset + block.time])));
    using Checked = LoggedTime::Checked;
    auto checked = Checked::unknown;
    if (block.check && offset + *block.check < words.size())
      if (const auto wrong = parse_printed(words[offset + *block.check])) {
        checked = std::isnan(wrong->value) ? Checked::no : Checked::yes;
        if (block.counts_wrong && wrong->value > 0)
          table.odd_rows.add("wrong results (#wrong)", row.line);
      }
    row.times.at(row.timed++) = {{time->value * unit, time->half * unit},
                                 *algbw,
                                 *busbw,
                                 b == 1 || first_in_place_,
                                 checked};
    offset += block.width;
  }
  return true;
}

bool NcclColumns::take(const Words& words, int line, LoggedTable& table) const {
  const auto start = row_start(words);
  if (!start) return false;
  LoggedRow row;
  row.line = line;
  std::size_t position = *start;
  row.bytes = table_whole_number(words[position++], "size");
  if (logged_.count) row.count = table_whole_number(words[position++], "count");
  if (logged_.type) row.type = std::string(words[position++].substr(0, 16));
  if (logged_.redop && position < words.size() && starts_with_letter(words[position]) &&
      !parse_printed(words[position])) {
    row.reduces = words[position] != "none";
    ++position;
  }
  if (logged_.root && position < words.size() && is_whole_number(words[position])) {
    if (!words[position].starts_with('-'))
      row.root = static_cast<std::int64_t>(table_whole_number(words[position], "root"));
    ++position;
  }
  if (row.bytes == 0) {
    table.odd_rows.add("left out (0 bytes)", line);
    return true;
  }
  const bool complete = take_times(words, position, row, table);
  if (!complete)
    table.odd_rows.add(row.timed == 0 ? "left out (cut short or mixed with other text)"
                                      : "in-place times left out (cut short)",
                       line);
  std::size_t valid_times = 0;
  for (std::size_t i = 0; i < row.timed; ++i) {
    const LoggedTime& time = row.times.at(i);
    if (!std::isfinite(time.seconds.value) || time.seconds.value <= 0)
      table.odd_rows.add("left out (no time: N/A, NaN, infinite or 0)", line);
    else if (!logged_.cpu_time && !rate_fits(row, time))
      table.odd_rows.add("left out (algbw is not size / time)", line);
    else
      row.times.at(valid_times++) = time;
  }
  row.timed = valid_times;
  if (valid_times > 0) table.rows.push_back(std::move(row));
  return true;
}

}  // namespace pipewright::analysis
