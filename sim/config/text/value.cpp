#include "sim/config/text/value.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"

namespace pipewright::config {
namespace {

std::vector<std::string_view> cut_at_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= path.size();) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    parts.push_back(path.substr(start, dot - start));
    start = dot + 1;
  }
  return parts;
}

Value& item_at(Value& list, std::string_view index, std::string_view list_name,
               const Origin& origin) {
  const std::optional<std::size_t> i = base::parse_number<std::size_t>(index);
  if (list.items.empty())
    throw Error(origin, fmt::format("{} is an empty list", list_name))
        .suggest("set the whole list");
  if (!i || *i >= list.items.size())
    throw Error(origin, fmt::format("{} is a list and has no item {}", list_name, in_quotes(index)))
        .allow(fmt::format("0 to {}, such as {}.0", list.items.size() - 1, list_name));
  return list.items[*i];
}

void add_texts(const Value& value, const std::string& path,
               std::map<std::string, std::string>& texts) {
  switch (value.kind) {
    case Value::Kind::map:
      for (const Entry& entry : value.entries)
        add_texts(entry.value, path.empty() ? entry.key : path + "." + entry.key, texts);
      return;
    case Value::Kind::list: {
      const auto is_text = [](const Value& item) { return item.kind == Value::Kind::text; };
      if (!std::ranges::all_of(value.items, is_text)) {
        for (std::size_t i = 0; i < value.items.size(); ++i)
          add_texts(value.items[i], fmt::format("{}.{}", path, i), texts);
        return;
      }
      std::string items;
      for (const Value& item : value.items) items += (items.empty() ? "" : ", ") + item.text;
      texts[path] = value.items.empty() ? "[]" : items;
      return;
    }
    case Value::Kind::text:
      texts[path] = value.text;
  }
}

Value& entry_at(Value& map, std::string_view key, const Origin& origin) {
  if (Value* const present = find(map, key)) return *present;
  Entry created{std::string(key), origin, {}};
  created.value.origin = origin;
  return map.entries.emplace_back(std::move(created)).value;
}

// Number of steps from one text to another, where a step changes, adds, drops or swaps a character
// (Damerau 1964, with each pair of neighbours swapped at most once). Case is ignored, and '-'
// equals
// '_'.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  };
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool is_equal = plain(a[i - 1]) == plain(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (is_equal ? 0 : 1)});
      const bool is_swap = i > 1 && j > 1 && plain(a[i - 1]) == plain(b[j - 2]) &&
                           plain(a[i - 2]) == plain(b[j - 1]);
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

Value make_text(std::string text, const Origin& origin) {
  Value value;
  value.kind = Value::Kind::text;
  value.origin = origin;
  value.text = std::move(text);
  return value;
}

Value make_list(const std::vector<std::string>& texts, const Origin& origin) {
  Value value;
  value.kind = Value::Kind::list;
  value.origin = origin;
  for (const std::string& text : texts) value.items.push_back(make_text(text, origin));
  return value;
}

void set_value(Value& root, std::string_view path, Value value) {
  const Origin origin = value.origin;
  const std::vector<std::string_view> parts = cut_at_dots(path);
  if (parts.size() > max_depth)
    throw Error(origin, fmt::format("{} is nested too deeply", in_quotes(path)))
        .allow(fmt::format("{} levels", max_depth));
  for (const std::string_view part : parts)
    if (part.empty())
      throw Error(origin, fmt::format("{} is no path", in_quotes(path)))
          .allow("names joined by single dots, such as schedule.chunks");

  Value* target = &root;
  std::string key;  // without indices of lists
  for (const std::string_view part : parts) {
    const auto length = static_cast<std::size_t>(part.data() - path.data());
    const std::string name = length == 0 ? "the scenario" : shown(path.substr(0, length - 1));
    if (target->kind == Value::Kind::text)
      throw Error(origin, fmt::format("{} is {}, so {} cannot be set in it", name,
                                      describe(*target), in_quotes(part)))
          .suggest(fmt::format("set the whole of {}", name));
    if (target->kind == Value::Kind::list) {
      target = &item_at(*target, part, name, origin);
    } else {
      target = &entry_at(*target, part, origin);
      key += fmt::format("{}{}", key.empty() ? "" : ".", part);
    }
  }
  *target = std::move(value);
  set_origin_keys(*target, key);
}

void set_origin_keys(Value& value, std::string_view path) {
  value.origin.key = path;
  for (Value& item : value.items) set_origin_keys(item, path);
  for (Entry& entry : value.entries) {
    const std::string key = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    entry.origin.key = key;
    set_origin_keys(entry.value, key);
  }
}

const Value* find(const Value& map, std::string_view key) {
  const auto it = std::ranges::find(map.entries, key, &Entry::key);
  return it == map.entries.end() ? nullptr : &it->value;
}

Value* find(Value& map, std::string_view key) {
  return const_cast<Value*>(find(std::as_const(map), key));
}

const Value* value_at(const Value& root, std::string_view path) {
  const Value* value = &root;
  for (const std::string_view part : cut_at_dots(path)) {
    value = find(*value, part);
    if (value == nullptr) break;
  }
  return value;
}

std::map<std::string, std::string> texts_by_key(const Value& value, const std::string& path) {
  std::map<std::string, std::string> texts;
  add_texts(value, path, texts);
  return texts;
}

const Origin& origin_of(const Value& root, std::string_view path) {
  const Value* value = &root;
  for (const std::string_view key : cut_at_dots(path)) {
    const Value* const inner = find(*value, key);
    if (inner == nullptr) break;
    value = inner;
  }
  return value->origin;
}

std::string describe_text(std::string_view text) {
  if (text.empty()) return "an empty text";
  const bool numeric =
      std::string_view("0123456789+-.").find(text.front()) != std::string_view::npos;
  constexpr std::array<std::string_view, 7> words{"true", "false", "auto", "null",
                                                  "nan",  "inf",   "none"};
  if (numeric || std::ranges::find(words, text) != words.end()) return shown(text);
  return fmt::format("the text {}", in_quotes(text));
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::text:
      return describe_text(value.text);
    case Value::Kind::list:
      return value.items.empty() ? "an empty list" : "a list";
    case Value::Kind::map:
      return value.entries.empty() ? "an empty map" : "a map";
  }
  return {};
}

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names) {
  constexpr std::size_t longest = 100;  // the distance takes time length x length
  if (text.size() > longest) return {};
  // A name that begins with the text is preferred to one with other letters: h100 means h100-sxm.
  if (text.size() >= 3)
    for (const std::string_view name : names)
      if (name.size() > text.size() && edit_distance(text, name.substr(0, text.size())) == 0)
        return name;
  std::size_t limit = 1 + std::min<std::size_t>(3, text.size() / 3);
  std::string_view nearest;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(text, name);
    if (distance >= limit) continue;
    limit = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace pipewright::config
