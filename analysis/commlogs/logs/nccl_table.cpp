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

constexpr double microsecond = 1e-6;
constexpr double millisecond = 1e-3;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_word(std::string_view word) { return !word.empty() && is_letter(word.front()); }

std::string shown(std::string_view word) {
  constexpr std::size_t longest = 40;
  return printable(std::string(word.substr(0, longest)));
}

std::uint64_t whole(std::string_view word, std::string_view what) {
  if (const auto value = parse_whole_number(word)) return *value;
  throw std::invalid_argument(fmt::format(
      "the {} {} {}", what, shown(word),
      word.starts_with('-') ? "is below 0" : "is beyond 64 bits; the largest is 2^64 - 1"));
}

// Whether bytes / time is the rate that stands beside, as far as either was printed.
bool rate_fits(double bytes, const LoggedTime& time) {
  constexpr double slack = 0.01, giga = 1e9;
  const double shortest = std::max(time.seconds.value - time.seconds.half, 0.0);
  const double least = bytes / giga / (time.seconds.value + time.seconds.half) * (1 - slack);
  const double most = bytes / giga / shortest * (1 + slack);  // maybe infinite
  return time.algbw.value + time.algbw.half >= least && time.algbw.value - time.algbw.half <= most;
}

// Until 2020 the rate of parts was of those (n-1) of n that move.
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
  const auto found = std::ranges::find(types, type, &Type::name);
  return found == types.end() ? 0 : found->bytes;
}

NcclColumns NcclColumns::usual() {
  static const Words words{"size",  "count",  "type", "redop", "root",  "time",  "algbw",
                           "busbw", "#wrong", "time", "algbw", "busbw", "#wrong"};
  return *parse(words);
}

std::optional<NcclColumns> NcclColumns::parse(const Words& words) {
  NcclColumns columns;
  // The table that `comm bench` shows is another one than the log that it writes.
  if (std::ranges::find(words, "formula") != words.end()) return std::nullopt;
  const auto size = std::ranges::find_if(
      words, [](std::string_view word) { return word == "size" || word == "bytes"; });
  if (size == words.end()) return std::nullopt;
  columns.has_.milliseconds = *size == "bytes";
  bool rates = false;
  for (auto word = size + 1; word != words.end() && *word != "timestamp"; ++word) {
    const bool time = *word == "time" || *word == "cputime";
    if (time) {
      columns.blocks_.emplace_back();
      columns.has_.cpu_time = columns.has_.cpu_time || *word == "cputime";
    }
    if (columns.blocks_.empty()) {
      columns.has_.count = columns.has_.count || *word == "count" || *word == "N";
      columns.has_.type = columns.has_.type || *word == "type";
      columns.has_.redop = columns.has_.redop || *word == "redop" || *word == "op";
      columns.has_.root = columns.has_.root || *word == "root";
      continue;
    }
    Block& block = columns.blocks_.back();
    const std::size_t place = block.width++;
    if (time) block.time = place;
    if (*word == "algbw") block.algbw = place;
    if (*word == "busbw") block.busbw = place;
    if (*word == "#wrong" || *word == "wrong") block.counts_wrong = true;
    if (block.counts_wrong || *word == "error" || *word == "res")
      block.check = block.check.value_or(place);
    rates = rates || block.algbw || block.busbw;
  }
  if (!rates || columns.blocks_.size() > 2) return std::nullopt;
  return columns;
}

// Something that nobody foresaw may stand before it, but what follows has a known type then.
std::optional<std::size_t> NcclColumns::start_of_row(const Words& words) const {
  if (words.empty()) return std::nullopt;
  constexpr std::size_t farthest = 8;
  if (has_.count && has_.type)
    for (std::size_t i = 0; i + 2 < words.size() && i < farthest; ++i)
      if (is_whole_number(words[i]) && is_whole_number(words[i + 1]) &&
          nccl_type_bytes(words[i + 2]) != 0)
        return i;
  const std::size_t leading = 1 + (has_.count ? 1U : 0U) + (has_.type ? 1U : 0U);
  if (words.size() <= leading || !is_whole_number(words[0])) return std::nullopt;
  if (has_.count && !is_whole_number(words[1])) return std::nullopt;
  if (has_.type && !is_word(words[leading - 1])) return std::nullopt;
  // So does prose: "error: -61 12 retries left" has neither a type that is known nor a size.
  if (has_.type && nccl_type_bytes(words[leading - 1]) == 0 && !parse_whole_number(words[0]))
    return std::nullopt;
  // Other programs print numbers, too.
  if (!has_.type && words.size() < leading + blocks_.front().width) return std::nullopt;
  return 0;
}

bool NcclColumns::take_times(const Words& words, std::size_t at, LoggedRow& row,
                             LoggedTable& table) const {
  const double unit = table.has.milliseconds ? millisecond : microsecond;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    const std::size_t last =
        std::max({block.time, block.algbw.value_or(0), block.busbw.value_or(0)});
    if (at + last >= words.size()) return false;
    const auto number = [&](std::optional<std::size_t> place) {
      return place ? parse_printed(words[at + *place]) : PrintedNumber{std::nan(""), 0};
    };
    const auto time = number(block.time), algbw = number(block.algbw), busbw = number(block.busbw);
    if (!time || !algbw || !busbw) return false;
    if (time->value < 0)
      throw std::invalid_argument(
          fmt::format("the time {} is below 0", shown(words[at + block.time])));
    using Checked = LoggedTime::Checked;
    auto checked = Checked::unknown;
    if (block.check && at + *block.check < words.size())
      if (const auto wrong = parse_printed(words[at + *block.check])) {
        checked = std::isnan(wrong->value) ? Checked::no : Checked::yes;
        if (block.counts_wrong && wrong->value > 0)
          table.odd_rows.add("had wrong results (#wrong)", row.line);
      }
    row.times.at(row.timed++) = {{time->value * unit, time->half * unit},
                                 *algbw,
                                 *busbw,
                                 b == 1 || first_in_place_,
                                 checked};
    at += block.width;
  }
  return true;
}

bool NcclColumns::take(const Words& words, int line, LoggedTable& table) const {
  const auto start = start_of_row(words);
  if (!start) return false;
  LoggedRow row;
  row.line = line;
  std::size_t at = *start;
  row.bytes = whole(words[at++], "size");
  if (has_.count) row.count = whole(words[at++], "count");
  if (has_.type) row.type = std::string(words[at++].substr(0, 16));
  if (has_.redop && at < words.size() && is_word(words[at]) && !parse_printed(words[at])) {
    row.reduces = words[at] != "none";
    ++at;
  }
  if (has_.root && at < words.size() && is_whole_number(words[at])) {
    if (!words[at].starts_with('-')) row.root = static_cast<std::int64_t>(whole(words[at], "root"));
    ++at;
  }
  if (row.bytes == 0) {
    table.odd_rows.add("left out: of 0 bytes", line);
    return true;
  }
  const bool complete = take_times(words, at, row, table);
  if (!complete)
    table.odd_rows.add(row.timed == 0 ? "left out: cut short or mixed with other text"
                                      : "cut short: what it says in place is left out",
                       line);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < row.timed; ++i) {
    const LoggedTime& time = row.times.at(i);
    if (!std::isfinite(time.seconds.value) || time.seconds.value <= 0)
      table.odd_rows.add("left out: no time (N/A, NaN, infinite or 0)", line);
    else if (!has_.cpu_time && !rate_fits(row, time))
      table.odd_rows.add("left out: its algbw is not size / time", line);
    else
      row.times.at(kept++) = time;
  }
  row.timed = kept;
  if (kept > 0) table.rows.push_back(std::move(row));
  return true;
}

}  // namespace pipewright::analysis
