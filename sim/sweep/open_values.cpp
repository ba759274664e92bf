#include "sim/sweep/open_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/scenario_tree.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Error;
using config::Value;

constexpr std::size_t max_values_per_axis = 100'000;  // each is stored as a text
constexpr std::string_view range_allowed =
    "a range of whole numbers from low to high, such as 1..8, 8..64 step 8 or 1..64 x2";
constexpr std::uint64_t largest_number = std::uint64_t{1} << 53U;  // exact as a double

// Parses a number at the beginning of a text and removes it from the text.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || value > largest_number) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return value;
}

bool skip_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

void skip_spaces(std::string_view& text) {
  while (skip_word(text, " ")) {
  }
}

struct Range {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint64_t step = 1;
  bool multiplies = false;
};

std::optional<Range> parse_range(std::string_view text) {
  const auto low = take_number(text);
  if (!low || !skip_word(text, "..")) return std::nullopt;
  const auto high = take_number(text);
  if (!high || *high < *low) return std::nullopt;
  Range range{*low, *high};
  skip_spaces(text);
  if (text.empty()) return range;
  range.multiplies = skip_word(text, "x");
  if (!range.multiplies && !skip_word(text, "step")) return std::nullopt;
  skip_spaces(text);
  const auto step = take_number(text);
  // Every step of a range must increase the value, so it must be at least 1, or at least 2 for a
  // factor.
  if (!step || !text.empty() || *step < (range.multiplies ? 2 : 1)) return std::nullopt;
  if (range.multiplies && range.low == 0) return std::nullopt;
  range.step = *step;
  return range;
}

constexpr std::string_view any_of = "any_of";
constexpr std::string_view example = "such as [1, 2, 4], 1..8 or 1..64 x2";

// Returns the list of alternatives of a map {any_of: [...]}, or null for any other value.
const Value* any_of_list(const Value& value, const std::string& key) {
  const Value* const list = value.kind == Value::Kind::map ? find(value, any_of) : nullptr;
  if (list == nullptr) return nullptr;
  if (value.entries.size() > 1)
    throw Error(value.origin, fmt::format("{} has other keys beside any_of", key))
        .suggest("use any_of alone, as in {any_of: [..., ...]}");
  if (list->kind != Value::Kind::list || list->items.empty())
    throw config::wrong({*list, key + ".any_of"}, "a list of alternatives");
  return list;
}

class Expander {
 public:
  // Returns the alternatives that a value stands for. If a list is one value of the key, each of
  // its items may have alternatives.
  std::vector<Value> expand(const Value& value, const std::string& key) {
    if (const Value* const list = any_of_list(value, key)) return expand_items(*list, key);
    switch (value.kind) {
      case Value::Kind::text:
        return expand_text(value, key);
      case Value::Kind::list:
        if (!takes_list(key, value)) return expand_items(value, key);
        return combine(value, value.items, [&](const Value& item) { return expand(item, key); });
      case Value::Kind::map:
        return combine(value, value.entries, [&](const Entry& entry) {
          return expand(entry.value, canonical_key(key + "." + entry.key));
        });
    }
    return {};
  }

 private:
  std::vector<Value> expand_text(const Value& value, const std::string& key) {
    if (!is_range(value.text)) return {value};
    std::vector<Value> values;
    for (std::string& text : range_values({value, key}))
      values.push_back(make_text(std::move(text), value.origin));
    return values;
  }

  std::vector<Value> expand_items(const Value& list, const std::string& key) {
    if (list.items.empty())
      throw config::wrong({list, key}, fmt::format("one value or more, {}", example));
    std::vector<Value> values;
    for (const Value& item : list.items) {
      std::vector<Value> expanded = expand(item, key);
      check_count(values.size() + expanded.size(), list, key);
      std::ranges::move(expanded, std::back_inserter(values));
    }
    return values;
  }

  // Returns a copy of a list or map for every combination of the alternatives of its elements.
  template <class Elements, class Expand>
  std::vector<Value> combine(const Value& container, const Elements& elements,
                             const Expand& expand_element) {
    std::vector<Value> results{container};
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::vector<Value> choices = expand_element(elements[i]);
      check_count(results.size() * choices.size(), container, "these alternatives");
      std::vector<Value> longer;
      for (const Value& result : results)
        for (const Value& choice : choices) {
          longer.push_back(result);
          element(longer.back(), i) = choice;
        }
      results = std::move(longer);
    }
    return results;
  }

  static Value& element(Value& container, std::size_t i) {
    return container.kind == Value::Kind::list ? container.items.at(i)
                                               : container.entries.at(i).value;
  }

  static void check_count(std::size_t count, const Value& value, std::string_view key) {
    if (count > max_values_per_axis)
      throw Error(value.origin,
                  fmt::format("{}: more than the {} values allowed", key, max_values_per_axis));
  }
};

bool is_any_of(const Value& value) {
  return value.kind == Value::Kind::map && find(value, any_of) != nullptr;
}

// Returns the distinct alternatives that a value with lists, ranges and any_of stands for. `key` is
// the canonical name of its key.
std::vector<Value> alternatives(const Value& value, const std::string& key) {
  return without_repeats(Expander().expand(value, key));
}

class OpenKeyFinder {
 public:
  std::vector<OpenKey> open_keys;

  void enter(const Value& map, const std::string& prefix) {
    for (std::size_t i = 0; i < map.entries.size(); ++i) {
      path_.push_back(i);
      const Entry& entry = map.entries[i];
      visit(entry.value, canonical_key(prefix.empty() ? entry.key : prefix + "." + entry.key));
      path_.pop_back();
    }
  }

 private:
  void visit(const Value& value, const std::string& key) {
    const bool list_is_value = takes_list(key, value);
    const bool choice = is_any_of(value);
    const bool list = value.kind == Value::Kind::list && !list_is_value;
    const bool text = value.kind == Value::Kind::text && !list_is_value;
    if (is_auto(value)) {
      open_keys.push_back({key, path_, value.origin, true, {}});
    } else if (choice || list || (text && is_range(value.text)) || is_whole(key)) {
      OpenKey open_key{key, path_, value.origin, false, {}};
      open_key.values = alternatives(value, key);
      if (!is_whole(key)) refuse_auto(open_key.values, key);
      open_keys.push_back(std::move(open_key));
    } else if (value.kind == Value::Kind::map) {
      enter(value, key);
    } else if (value.kind == Value::Kind::list) {
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        path_.push_back(i);
        if (value.items[i].kind == Value::Kind::map) visit(value.items[i], key);
        path_.pop_back();
      }
    }
  }

  static void refuse_auto(const std::vector<Value>& values, const std::string& key) {
    for (const Value& value : values) {
      if (is_auto(value))
        throw Error(value.origin, fmt::format("{} lists auto among other values", key))
            .suggest("use auto alone, which stands for all possible values");
      refuse_auto(value.items, key);
      for (const Entry& entry : value.entries) refuse_auto({entry.value}, key + "." + entry.key);
    }
  }

  std::vector<std::size_t> path_;
};

}  // namespace

bool is_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  return dots != std::string_view::npos && dots > 0 &&
         std::ranges::all_of(text.substr(0, dots), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> range_values(const config::Field& field) {
  const auto range = parse_range(field.value.text);
  if (!range) throw wrong(field, range_allowed);
  if (!range->multiplies && (range->high - range->low) / range->step >= max_values_per_axis)
    throw Error(field.value.origin,
                fmt::format("{} is {}, more than the {} values allowed", field.name,
                            config::shown(field.value.text), max_values_per_axis));
  std::vector<std::string> values;
  for (std::uint64_t value = range->low; value <= range->high;
       value = range->multiplies ? value * range->step : value + range->step) {
    values.push_back(std::to_string(value));
    if (range->multiplies && value > range->high / range->step) break;
  }
  return values;
}

std::vector<Value> without_repeats(std::vector<Value> values) {
  std::set<std::string> seen;
  std::erase_if(values, [&](const Value& value) { return !seen.insert(line_of(value)).second; });
  return values;
}

std::vector<OpenKey> open_keys(const Value& scenario) {
  OpenKeyFinder finder;
  finder.enter(scenario, "");
  return std::move(finder.open_keys);
}

}  // namespace pipewright::search
