#include "sim/serve/scenario_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/serve/text_edit.hpp"

namespace pipewright::serve {
namespace {

using config::Entry;
using config::Value;

constexpr std::array<std::string_view, 4> device_keys{"devices", "num_stages", "parallel.pp",
                                                      "parallel.pipeline"};
bool is_device_key(std::string_view key) {
  return std::ranges::find(device_keys, key) != device_keys.end();
}

// Returns the map that contains the last part of a dotted key, and this last part. The map is null
// if the tree does not have it.
std::pair<Value*, std::string_view> parent_of(Value& root, std::string_view key) {
  Value* map = &root;
  for (std::size_t dot = 0; (dot = key.find('.')) != std::string_view::npos;) {
    map = map->kind == Value::Kind::map ? config::find(*map, key.substr(0, dot)) : nullptr;
    if (map == nullptr) return {nullptr, key};
    key.remove_prefix(dot + 1);
  }
  return {map->kind == Value::Kind::map ? map : nullptr, key};
}

void remove(Value& root, std::string_view key) {
  const auto [map, name] = parent_of(root, key);
  if (map == nullptr) return;
  std::erase_if(map->entries, [name = name](const Entry& entry) { return entry.key == name; });
  const std::size_t dot = key.rfind('.');
  if (map->entries.empty() && dot != std::string_view::npos) remove(root, key.substr(0, dot));
}

// Returns the value under a key or under one of its other names; null if the tree has none.
const Value* existing(Value& tree, const std::string& key) {
  const auto look = [&](std::string_view name) -> const Value* {
    const auto [map, last] = parent_of(tree, name);
    return map == nullptr ? nullptr : config::find(*map, last);
  };
  if (key == "schedule.name") {
    const Value* const whole = config::find(tree, "schedule");
    if (whole != nullptr && whole->kind == Value::Kind::text) return whole;
  }
  if (!is_device_key(key)) return look(key);
  for (const std::string_view name : device_keys)
    if (const Value* const value = look(name)) return value;
  return nullptr;
}

// Puts `value` under a key and leaves the rest of the text as it is. Returns nothing if this is not
// possible, so that the whole text must be written anew.
std::optional<std::string> put_in_place(const std::string& text, Value& tree,
                                        const std::string& key, const std::string& value) {
  if (const Value* const old = existing(tree, key)) return with_value(text, *old, value);
  const std::size_t dot = key.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
  if (parent.empty()) return with_entry(text, tree, name, value);
  const Value* const whole = existing(tree, parent);
  if (whole == nullptr)
    return put_in_place(text, tree, parent, fmt::format("{{{}: {}}}", name, value));
  if (whole->kind == Value::Kind::map) return with_entry(text, *whole, name, value);
  // The schedule was given by its name alone: replace the name by a map with the name and the new
  // key.
  if (parent != "schedule" || whole->kind != Value::Kind::text) return {};
  return with_value(text, *whole, fmt::format("{{name: {}, {}: {}}}", whole->text, name, value));
}

std::optional<std::string> remove_in_place(const std::string& text, const Value& map,
                                           std::string_view key, int end) {
  const std::size_t dot = key.find('.');
  const auto at = std::ranges::find(map.entries, key.substr(0, dot), &Entry::key);
  if (map.kind != Value::Kind::map || at == map.entries.end()) return {};
  const Value& inner = at->value;
  const bool is_last = inner.kind == Value::Kind::map && inner.entries.size() == 1;
  const auto next = std::next(at);
  if (dot == std::string_view::npos || is_last)
    return without_entry(text, map, static_cast<std::size_t>(at - map.entries.begin()), end);
  return remove_in_place(text, inner, key.substr(dot + 1),
                         next == map.entries.end() ? end : next->origin.line);
}

void put(std::string& text, const Edit& edit) {
  const auto& [key, value] = edit;
  const Value before = tree_of(text);
  Value tree = before;
  std::optional<std::string> in_place;
  if (value.empty()) {
    std::vector<std::string_view> names{key};
    if (is_device_key(key)) names.assign(device_keys.begin(), device_keys.end());
    for (const std::string_view name : names) {
      if (!in_place) in_place = remove_in_place(text, before, name, 0);
      remove(tree, name);
    }
  } else {
    const bool is_first = key == "schedule.name" && config::find(tree, "schedule") == nullptr;
    const std::string place = is_first ? "schedule" : key;
    in_place = put_in_place(text, tree, place, value);
    const Value* const old = existing(tree, place);
    if (place == "schedule.name" && old != nullptr && old == config::find(tree, "schedule"))
      config::override_key(tree, "schedule", value, {.source = key});
    else
      config::override_key(tree, place, value, {.source = key});
  }
  const bool is_empty = tree.kind == Value::Kind::map && tree.entries.empty();
  const std::string rewritten = is_empty ? "" : config::to_yaml(tree);
  try {
    if (in_place && !is_empty && config::to_yaml(tree_of(*in_place)) == rewritten) {
      text = std::move(*in_place);
      return;
    }
  } catch (const config::Error&) {
    // The text with the value in its place is not valid YAML, for example because the value needs
    // quotes: write the whole text anew.
  }
  text = first_comments(text) + rewritten;
}

std::string flow(const Value& value) {
  if (value.kind == Value::Kind::text) return value.text;
  Value list{.kind = Value::Kind::list};
  list.items.push_back(value);
  std::string text = config::to_yaml(list);  // "[..]" on a line
  return text.substr(1, text.rfind(']') - 1);
}

void add_values(const Value& value, const std::string& name,
                std::map<std::string, std::string>& values) {
  if (value.kind == Value::Kind::map)
    for (const Entry& entry : value.entries)
      add_values(entry.value, name.empty() ? entry.key : name + "." + entry.key, values);
  else
    values[name] = flow(value);
}

// Returns the dotted key whose name or value begins at this line and column; empty if none does.
std::string key_at(const Value& value, const std::string& name, const config::Origin& place) {
  const auto is_here = [&](const config::Origin& origin) {
    return origin.line == place.line && origin.column == place.column;
  };
  if (value.kind == Value::Kind::map) {
    for (const Entry& entry : value.entries) {
      std::string inner = name.empty() ? entry.key : name + "." + entry.key;
      if (is_here(entry.origin)) return inner;
      if (std::string key = key_at(entry.value, inner, place); !key.empty()) return key;
    }
    return is_here(value.origin) ? name : "";
  }
  for (const Value& item : value.items)
    if (!key_at(item, name, place).empty()) return name;
  return is_here(value.origin) ? name : "";
}

}  // namespace

Value tree_of(const std::string& text) {
  const bool is_blank = text.find_first_not_of(" \t\r\n") == std::string::npos ||
                        first_comments(text).size() == text.size();
  return is_blank ? config::empty_scenario() : config::read_yaml_text(text, scenario_name);
}

std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) put(text, edit);
  return text;
}

std::map<std::string, std::string> values_of(const Value& tree) {
  std::map<std::string, std::string> values;
  add_values(tree, "", values);
  for (const std::string_view name : device_keys)
    if (const auto it = values.find(std::string(name)); it != values.end())
      values["parallel.pp"] = it->second;
  if (const auto it = values.find("num_batches"); it != values.end())
    values["microbatches"] = it->second;
  if (const auto it = values.find("schedule"); it != values.end())
    values["schedule.name"] = it->second;
  return values;
}

Fault fault_of(const config::Error& error, const std::string& text) {
  const config::Origin& place = error.location();
  const bool is_in_text = place.source == scenario_name && place.line > 0;
  Fault fault{.message = is_in_text ? error.message() : error.what(),
              .key = error.key().substr(0, error.key().find('['))};  // an item has its list's field
  if (is_in_text) {
    fault.line = place.line;
    fault.column = place.column;
    if (fault.key.empty()) try {
        fault.key = key_at(tree_of(text), "", place);
      } catch (const config::Error&) {
        // The text cannot be parsed, so only the line and column of the fault are known, but not
        // its key.
      }
  }
  if (is_device_key(fault.key)) fault.key = "parallel.pp";
  if (fault.key == "schedule") fault.key = "schedule.name";
  return fault;
}

}  // namespace pipewright::serve
