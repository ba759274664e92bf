#include "sim/cluster/record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/platform_file.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::string_view example =
    "all-reduce; 2 to 8 ranks; 1 node; 512 B to 8 GiB; 44 rows; median 4.1 %; p90 9.8 %; held "
    "out; SOURCE";
constexpr std::string_view prefix = "record.";
constexpr std::size_t parts = 9;

// In the largest unit of which it is a whole number.
std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

template <class Number, class Text>
std::string range_text(Number least, Number most, const Text& text) {
  return least == most ? text(most) : text(least) + " to " + text(most);
}

std::string count_text(std::uint64_t least, std::uint64_t most, const char* one) {
  const auto text = [](std::uint64_t count) { return fmt::format("{}", count); };
  return fmt::format("{} {}{}", range_text(least, most, text), one, most == 1 ? "" : "s");
}

[[noreturn]] void fail(std::string_view part, std::string_view what) {
  throw Error(
      fmt::format("a record says '{}', which is no {}; one reads: {}", part, what, example));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// The first parts, and all that is left as the last one.
std::array<std::string_view, parts> split(std::string_view text) {
  std::array<std::string_view, parts> found;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t end = i + 1 == parts ? std::string_view::npos : text.find(';');
    if (i + 1 < parts && end == std::string_view::npos)
      throw Error(
          fmt::format("a record has {} parts, apart by semicolons, where {} belong; one "
                      "reads: {}",
                      i + 1, parts, example));
    found[i] = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return found;
}

// "4 to 8" are 4 and 8, and "8" is 8 and 8.
std::pair<std::string_view, std::string_view> ends_of(std::string_view range) {
  constexpr std::string_view to = " to ";
  const std::size_t at = range.find(to);
  if (at == std::string_view::npos) return {range, range};
  return {trimmed(range.substr(0, at)), trimmed(range.substr(at + to.size()))};
}

template <class Number>
bool reads(std::string_view text, Number& into) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), into);
  return fault == std::errc() && end == text.data() + text.size();
}

// "2 to 8 ranks", without the noun or its plural.
template <class Number>
std::pair<Number, Number> counts(std::string_view part, std::string_view noun,
                                 std::string_view what) {
  std::string_view words = part;
  if (words.ends_with('s')) words.remove_suffix(1);
  if (!words.ends_with(noun)) fail(part, what);
  words.remove_suffix(noun.size());
  const auto [from, to] = ends_of(trimmed(words));
  std::pair<Number, Number> found;
  if (!reads(from, found.first) || !reads(to, found.second) || found.first < 1 ||
      found.first > found.second)
    fail(part, what);
  return found;
}

double percent(std::string_view part, std::string_view word, std::string_view what) {
  double found = 0;
  if (!part.starts_with(word) || !part.ends_with('%')) fail(part, what);
  const std::string_view number = trimmed(part.substr(word.size(), part.size() - word.size() - 1));
  if (!reads(number, found) || !std::isfinite(found) || found < 0) fail(part, what);
  return found / 100;
}

}  // namespace

std::string to_string(const Record& record) {
  return fmt::format("{}; {}; {}; {}; {}; median {:.1f} %; p90 {:.1f} %; {}; {}", record.operation,
                     count_text(record.least_ranks, record.most_ranks, "rank"),
                     count_text(record.least_nodes, record.most_nodes, "node"),
                     range_text(record.least_bytes, record.most_bytes, size_text),
                     count_text(record.rows, record.rows, "row"), 100 * record.median,
                     100 * record.p90, record.held_out ? "held out" : "fitted", record.source);
}

Record parse_record(std::string_view text) {
  const auto part = split(text);
  Record record{.operation = std::string(part[0]), .source = std::string(part[8])};
  if (part[0].empty() || part[0].find_first_not_of("abcdefghijklmnopqrstuvwxyz-") != part[0].npos)
    fail(part[0], "operation, such as all-reduce");
  std::tie(record.least_ranks, record.most_ranks) =
      counts<std::uint32_t>(part[1], "rank", "range of ranks, such as 2 to 8 ranks");
  std::tie(record.least_nodes, record.most_nodes) =
      counts<std::uint32_t>(part[2], "node", "range of nodes, such as 1 to 2 nodes");
  const auto [least, most] = ends_of(part[3]);
  try {
    record.least_bytes = config::parse_size(least, "", "");
    record.most_bytes = config::parse_size(most, "", "");
  } catch (const config::Error&) {
    fail(part[3], "range of sizes, such as 512 B to 8 GiB");
  }
  if (record.least_bytes > record.most_bytes)
    fail(part[3], "range of sizes, such as 512 B to 8 GiB");
  record.rows = counts<std::size_t>(part[4], "row", "number of rows, such as 44 rows").second;
  record.median = percent(part[5], "median", "median error, such as median 4.1 %");
  record.p90 = percent(part[6], "p90", "90th percentile of the errors, such as p90 9.8 %");
  record.held_out = part[7] == "held out";
  if (!record.held_out && part[7] != "fitted") fail(part[7], "'held out' and no 'fitted'");
  return record;
}

std::vector<Record> read_records(const PlatformFile& file) {
  std::vector<Record> records;
  for (const pugi::xml_node& zone : file.document().child("platform").children())
    for (const pugi::xml_node& node : zone.children("prop")) {
      if (!std::string_view(node.attribute("id").value()).starts_with(prefix)) continue;
      try {
        records.push_back(parse_record(node.attribute("value").value()));
      } catch (const Error& error) {
        file.fail(node.offset_debug(),
                  fmt::format("property '{}': {}", node.attribute("id").value(), error.what()));
      }
    }
  return records;
}

bool covers(const Record& record, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes) {
  return record.operation == operation && record.least_ranks <= ranks &&
         ranks <= record.most_ranks && record.least_nodes <= nodes && nodes <= record.most_nodes &&
         record.least_bytes <= bytes && bytes <= record.most_bytes;
}

bool covers(std::span<const Record> records, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes) {
  return std::ranges::any_of(records, [&](const Record& record) {
    return covers(record, operation, ranks, nodes, bytes);
  });
}

}  // namespace pipewright::cluster
