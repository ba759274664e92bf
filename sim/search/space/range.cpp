#include "sim/search/space/range.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace pipewright::search {
namespace {

constexpr std::string_view allowed =
    "a range of whole numbers from low to high, such as 1..8, 8..64 step 8 or 1..64 x2";
constexpr std::uint64_t largest = std::uint64_t{1} << 53U;  // a double holds all up to it

// Takes a number off the front.
std::optional<std::uint64_t> number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || value > largest) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

void skip_spaces(std::string_view& text) {
  while (skip(text, " ")) {
  }
}

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t step = 1;
  bool multiplies = false;
};

std::optional<Range> parse(std::string_view text) {
  const auto low = number(text);
  if (!low || !skip(text, "..")) return std::nullopt;
  const auto high = number(text);
  if (!high || *high < *low) return std::nullopt;
  Range range{*low, *high};
  skip_spaces(text);
  if (text.empty()) return range;
  range.multiplies = skip(text, "x");
  if (!range.multiplies && !skip(text, "step")) return std::nullopt;
  skip_spaces(text);
  const auto step = number(text);
  // Neither may stand still.
  if (!step || !text.empty() || *step < (range.multiplies ? 2 : 1)) return std::nullopt;
  if (range.multiplies && range.low == 0) return std::nullopt;
  range.step = *step;
  return range;
}

}  // namespace

bool is_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  return dots != std::string_view::npos && dots > 0 &&
         std::ranges::all_of(text.substr(0, dots), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> range_values(const config::Field& field) {
  const auto range = parse(field.value.text);
  if (!range) throw wrong(field, allowed);
  if (!range->multiplies && (range->high - range->low) / range->step >= most_values)
    throw config::Error(fmt::format("{} is {}, more than the {} values allowed", subject(field),
                                    config::shown(field.value.text), most_values));
  std::vector<std::string> values;
  for (std::uint64_t value = range->low; value <= range->high;
       value = range->multiplies ? value * range->step : value + range->step) {
    values.push_back(std::to_string(value));
    if (range->multiplies && value > range->high / range->step) break;
  }
  return values;
}

}  // namespace pipewright::search
