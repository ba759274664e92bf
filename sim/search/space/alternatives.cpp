#include "sim/search/space/alternatives.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/space/keys.hpp"
#include "sim/search/space/range.hpp"
#include "sim/search/space/values.hpp"

namespace pipewright::search {
namespace {

using config::Entry;
using config::Error;
using config::Value;

constexpr std::string_view any_of = "any_of";
constexpr std::string_view example = "such as [1, 2, 4], 1..8 or 1..64 x2";

// The alternatives of {any_of: [...]}, or null.
const Value* listed(const Value& value, const std::string& key) {
  const Value* const list = value.kind == Value::Kind::map ? find(value, any_of) : nullptr;
  if (list == nullptr) return nullptr;
  if (value.entries.size() > 1)
    throw Error(
        locate(value.origin, fmt::format("{} has keys beside any_of; any_of stands alone, as in "
                                         "{{any_of: [..., ...]}}",
                                         key)));
  if (list->kind != Value::Kind::list || list->items.empty())
    throw config::wrong({*list, key + ".any_of"}, "a list of alternatives");
  return list;
}

class Expansion {
 public:
  // All values that stand for `value`. Where a list is a value, its items may be open in turn.
  std::vector<Value> expand(const Value& value, const std::string& key, bool list_is_value) {
    if (const Value* const list = listed(value, key)) return each(*list, key, list_is_value);
    switch (value.kind) {
      case Value::Kind::text:
        return expand_text(value, key);
      case Value::Kind::list:
        if (!list_is_value) return each(value, key, takes_list(key));
        return combine(value, value.items,
                       [&](const Value& item) { return expand(item, key, list_is_value); });
      case Value::Kind::map:
        return combine(value, value.entries, [&](const Entry& entry) {
          const std::string inner = canonical_key(key + "." + entry.key);
          return expand(entry.value, inner, takes_list(inner));
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

  std::vector<Value> each(const Value& list, const std::string& key, bool list_is_value) {
    if (list.items.empty())
      throw config::wrong({list, key}, fmt::format("one value or more, {}", example));
    std::vector<Value> values;
    for (const Value& item : list.items) {
      std::vector<Value> more = expand(item, key, list_is_value);
      check(values.size() + more.size(), list, key);
      std::ranges::move(more, std::back_inserter(values));
    }
    return values;
  }

  // A container's copies with every combination of what its elements may be.
  template <class Elements, class Expand>
  std::vector<Value> combine(const Value& container, const Elements& elements,
                             const Expand& expand_element) {
    std::vector<Value> results{container};
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::vector<Value> choices = expand_element(elements[i]);
      check(results.size() * choices.size(), container, "these alternatives");
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

  static void check(std::size_t count, const Value& value, std::string_view key) {
    if (count > most_values)
      throw Error(locate(value.origin,
                         fmt::format("{}: more than the {} values allowed", key, most_values)));
  }
};

}  // namespace

bool is_any_of(const Value& value) {
  return value.kind == Value::Kind::map && find(value, any_of) != nullptr;
}

std::vector<Value> alternatives(const Value& value, const std::string& key) {
  return without_repeats(Expansion().expand(value, key, takes_list(key)));
}

std::vector<Value> without_repeats(std::vector<Value> values) {
  std::set<std::string> seen;
  std::erase_if(values, [&](const Value& value) { return !seen.insert(line_of(value)).second; });
  return values;
}

}  // namespace pipewright::search
