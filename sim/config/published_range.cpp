#include "sim/config/published_range.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/fields.hpp"

namespace pipewright::config {
namespace {

struct EndNumber {
  double number = 0;
  std::string_view unit;
};

constexpr std::string_view range_example = "a range such as {low: 19.4 TB/s, high: 22 TB/s}";

bool is_range(const Value& value) {
  return value.kind == Value::Kind::map &&
         (find(value, "low") != nullptr || find(value, "high") != nullptr);
}

EndNumber read_end(const Value& range, std::string_view end, const std::string& key) {
  const Value* const value = find(range, end);
  if (value == nullptr)
    throw Error(range.origin, fmt::format("{}.{} is missing", key, end), key).allow(range_example);
  const Field field{*value, fmt::format("{}.{}", key, end)};
  const std::string_view text = read_text(field, range_example);
  EndNumber amount;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), amount.number);
  if (error != std::errc()) throw wrong(field, range_example);
  amount.unit = text.substr(static_cast<std::size_t>(rest - text.data()));
  while (amount.unit.starts_with(' ')) amount.unit.remove_prefix(1);
  return amount;
}

// Returns the middle of a range, with its unit.
std::string middle_of(const Value& range, const std::string& key) {
  const EndNumber low = read_end(range, "low", key);
  const EndNumber high = read_end(range, "high", key);
  if (range.entries.size() > 2)
    throw Error(range.origin, fmt::format("{} has other keys than low and high", key), key)
        .allow(range_example);
  if (low.unit != high.unit)
    throw Error(
        range.origin,
        fmt::format("{} has the units {} and {}", key, in_quotes(low.unit), in_quotes(high.unit)),
        key)
        .suggest("give both ends in the same unit");
  if (high.number <= low.number)
    throw Error(range.origin, fmt::format("{}.high is not above {}.low", key, key), key)
        .allow(range_example);
  return fmt::format("{:.10g} {}", (low.number + high.number) / 2, low.unit);
}

// Calls `visit` with each range within a map, and its dotted key. `prefix` is empty, or the key of
// the map with a dot at its end.
template <class AnyValue, class Visit>
void visit_ranges(AnyValue& map, const std::string& prefix, const Visit& visit) {
  for (auto& entry : map.entries) {
    const std::string key = prefix + entry.key;
    if (is_range(entry.value))
      visit(entry.value, key);
    else
      visit_ranges(entry.value, key + ".", visit);
  }
}

}  // namespace

std::vector<PublishedRange> published_ranges(const Value& gpu) {
  std::vector<PublishedRange> ranges;
  visit_ranges(gpu, "", [&](const Value& range, const std::string& key) {
    middle_of(range, key);
    ranges.push_back({key, find(range, "low")->text, find(range, "high")->text});
  });
  return ranges;
}

Value at_range_end(Value gpu, RangeEnd end) {
  visit_ranges(gpu, "", [end](Value& range, const std::string& key) {
    std::string text = middle_of(range, key);
    if (end == RangeEnd::low) text = find(range, "low")->text;
    if (end == RangeEnd::high) text = find(range, "high")->text;
    range = make_text(std::move(text), range.origin);
  });
  return gpu;
}

}  // namespace pipewright::config
