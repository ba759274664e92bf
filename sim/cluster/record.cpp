#include "sim/cluster/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/base/numbers.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::string_view example_record =
    "all-reduce; 2 to 8 ranks; 1 node; 512 B to 8 GiB; 44 rows; median 4.1 %; p90 9.8 %; held "
    "out; SOURCE";
constexpr std::string_view record_prefix = "record.";
constexpr std::size_t record_parts = 9;

// Formats a number of bytes in the largest unit, B to TiB, of which it is a whole multiple.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

template <class Number, class Text>
std::string range_text(Number minimum, Number maximum, const Text& text) {
  return minimum == maximum ? text(maximum) : text(minimum) + " to " + text(maximum);
}

std::string count_text(std::uint64_t minimum, std::uint64_t maximum, const char* noun) {
  const auto text = [](std::uint64_t count) { return fmt::format("{}", count); };
  return fmt::format("{} {}{}", range_text(minimum, maximum, text), noun, maximum == 1 ? "" : "s");
}

[[noreturn]] void fail_record(std::string_view part, std::string_view expected) {
  throw Error(fmt::format("the record has '{}' in place of {}", part, expected))
      .suggest(fmt::format("expected a record such as: {}", example_record));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// Splits a record at semicolons. The last part keeps any further semicolons.
std::array<std::string_view, record_parts> split_record(std::string_view text) {
  std::array<std::string_view, record_parts> fields;
  for (std::size_t i = 0; i < record_parts; ++i) {
    const std::size_t end = i + 1 == record_parts ? std::string_view::npos : text.find(';');
    if (i + 1 < record_parts && end == std::string_view::npos)
      throw Error(fmt::format("the record has {} parts separated by semicolons instead of {}",
                              i + 1, record_parts))
          .suggest(fmt::format("expected a record such as: {}", example_record));
    fields[i] = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return fields;
}

// Splits a range into its two ends: "4 to 8" gives 4 and 8, and "8" gives 8 and 8.
std::pair<std::string_view, std::string_view> ends_of(std::string_view range) {
  constexpr std::string_view to = " to ";
  const std::size_t at = range.find(to);
  if (at == std::string_view::npos) return {range, range};
  return {trimmed(range.substr(0, at)), trimmed(range.substr(at + to.size()))};
}

// Parses a range with a noun, such as "2 to 8 ranks" or "1 rank".
template <class Number>
std::pair<Number, Number> counts(std::string_view part, std::string_view noun,
                                 std::string_view expected) {
  std::string_view words = part;
  if (words.ends_with('s')) words.remove_suffix(1);
  if (!words.ends_with(noun)) fail_record(part, expected);
  words.remove_suffix(noun.size());
  const auto [from, to] = ends_of(trimmed(words));
  const std::optional<Number> first = base::parse_number<Number>(from);
  const std::optional<Number> last = base::parse_number<Number>(to);
  if (!first || !last || *first < 1 || *first > *last) fail_record(part, expected);
  return {*first, *last};
}

double percent(std::string_view part, std::string_view word, std::string_view expected) {
  if (!part.starts_with(word) || !part.ends_with('%')) fail_record(part, expected);
  const std::string_view number = trimmed(part.substr(word.size(), part.size() - word.size() - 1));
  const std::optional<double> value = base::parse_number<double>(number);
  if (!value || !std::isfinite(*value) || *value < 0) fail_record(part, expected);
  return *value / 100;
}

}  // namespace

std::string to_string(const Record& record) {
  return fmt::format("{}; {}; {}; {}; {}; median {:.1f} %; p90 {:.1f} %; {}; {}", record.operation,
                     count_text(record.min_ranks, record.max_ranks, "rank"),
                     count_text(record.min_nodes, record.max_nodes, "node"),
                     range_text(record.min_bytes, record.max_bytes, size_text),
                     count_text(record.rows, record.rows, "row"), 100 * record.median,
                     100 * record.p90, record.held_out ? "held out" : "fitted", record.source);
}

Record parse_record(std::string_view text) {
  const auto part = split_record(text);
  Record record{.operation = std::string(part[0]), .source = std::string(part[8])};
  if (part[0].empty() || part[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz-") != part[0].npos)
    fail_record(part[0], "an operation, such as all-reduce");
  std::tie(record.min_ranks, record.max_ranks) =
      counts<std::uint32_t>(part[1], "rank", "a range of ranks, such as 2 to 8 ranks");
  std::tie(record.min_nodes, record.max_nodes) =
      counts<std::uint32_t>(part[2], "node", "a range of nodes, such as 1 to 2 nodes");
  const auto [from, to] = ends_of(part[3]);
  try {
    record.min_bytes = config::parse_size(from, "", "");
    record.max_bytes = config::parse_size(to, "", "");
  } catch (const config::Error&) {
    fail_record(part[3], "a range of sizes, such as 512 B to 8 GiB");
  }
  if (record.min_bytes > record.max_bytes)
    fail_record(part[3], "a range of sizes, such as 512 B to 8 GiB");
  record.rows = counts<std::size_t>(part[4], "row", "a number of rows, such as 44 rows").second;
  record.median = percent(part[5], "median", "a median error, such as median 4.1 %");
  record.p90 = percent(part[6], "p90", "a 90th percentile of errors, such as p90 9.8 %");
  record.held_out = part[7] == "held out";
  if (!record.held_out && part[7] != "fitted") fail_record(part[7], "'held out' or 'fitted'");
  return record;
}

std::vector<Record> read_records(const PlatformFile& file) {
  std::vector<Record> records;
  for (const pugi::xml_node& zone : file.document().child("platform").children())
    for (const pugi::xml_node& node : zone.children("prop")) {
      if (!std::string_view(node.attribute("id").value()).starts_with(record_prefix)) continue;
      try {
        records.push_back(parse_record(node.attribute("value").value()));
      } catch (const Error& error) {
        const std::string subject = fmt::format("property '{}'", node.attribute("id").value());
        file.fail(node.offset_debug(), error.within({}, subject));
      }
    }
  return records;
}

bool covers(const Record& record, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes) {
  return record.operation == operation && record.min_ranks <= ranks && ranks <= record.max_ranks &&
         record.min_nodes <= nodes && nodes <= record.max_nodes && record.min_bytes <= bytes &&
         bytes <= record.max_bytes;
}

bool covers(std::span<const Record> records, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes) {
  return std::ranges::any_of(records, [&](const Record& record) {
    return covers(record, operation, ranks, nodes, bytes);
  });
}

}  // namespace pipewright::cluster
