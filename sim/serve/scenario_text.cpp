#include "sim/serve/scenario_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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
bool is_of_devices(std::string_view key) {
  return std::ranges::find(device_keys, key) != device_keys.end();
}

// The map that holds the last part of a dotted key, and that part.
std::pair<Value*, std::string_view> place_of(Value& root, std::string_view key) {
  Value* map = &root;
  for (std::size_t dot = 0; (dot = key.find('.')) != std::string_view::npos;) {
    map = map->kind == Value::Kind::map ? config::find(*map, key.substr(0, dot)) : nullptr;
    if (map == nullptr) return {nullptr, key};
    key.remove_prefix(dot + 1);
  }
  return {map->kind == Value::Kind::map ? map : nullptr, key};
}

void remove(Value& root, std::string_view key) {
  const auto [map, name] = place_of(root, key);
  if (map == nullptr) return;
  std::erase_if(map->entries, [name = name](const Entry& one) { return one.key == name; });
  const std::size_t dot = key.rfind('.');
  if (map->entries.empty() && dot != std::string_view::npos) remove(root, key.substr(0, dot));
}

// What stands there already, whatever it is called.
const Value* existing(Value& tree, const std::string& key) {
  const auto look = [&](std::string_view name) -> const Value* {
    const auto [map, last] = place_of(tree, name);
    return map == nullptr ? nullptr : config::find(*map, last);
  };
  if (key == "schedule.name") {
    const Value* const whole = config::find(tree, "schedule");
    if (whole != nullptr && whole->kind == Value::Kind::text) return whole;
  }
  if (!is_of_devices(key)) return look(key);
  for (const std::string_view name : device_keys)
    if (const Value* const found = look(name)) return found;
  return nullptr;
}

// A change as little as can be. `now` stands under a key where nothing stood, or in its place.
std::optional<std::string> put_in_place(const std::string& text, Value& tree,
                                        const std::string& key, const std::string& now) {
  if (const Value* const old = existing(tree, key)) return with_value(text, *old, now);
  const std::size_t dot = key.rfind('.');
  const std::string parent = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
  if (parent.empty()) return with_entry(text, tree, name, now);
  const Value* const whole = existing(tree, parent);
  if (whole == nullptr)
    return put_in_place(text, tree, parent, fmt::format("{{{}: {}}}", name, now));
  if (whole->kind == Value::Kind::map) return with_entry(text, *whole, name, now);
  // A schedule that was a name alone.
  if (parent != "schedule" || whole->kind != Value::Kind::text) return {};
  return with_value(text, *whole, fmt::format("{{name: {}, {}: {}}}", whole->text, name, now));
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
  const auto& [key, now] = edit;
  const Value before = tree_of(text);
  Value tree = before;
  std::optional<std::string> in_place;
  if (now.empty()) {
    std::vector<std::string_view> names{key};
    if (is_of_devices(key)) names.assign(device_keys.begin(), device_keys.end());
    for (const std::string_view name : names) {
      if (!in_place) in_place = remove_in_place(text, before, name, 0);
      remove(tree, name);
    }
  } else {
    const bool is_first = key == "schedule.name" && config::find(tree, "schedule") == nullptr;
    const std::string place = is_first ? "schedule" : key;
    in_place = put_in_place(text, tree, place, now);
    const Value* const old = existing(tree, place);
    if (place == "schedule.name" && old != nullptr && old == config::find(tree, "schedule"))
      config::override_key(tree, "schedule", now, {.source = key});
    else
      config::override_key(tree, place, now, {.source = key});
  }
  const bool is_empty = tree.kind == Value::Kind::map && tree.entries.empty();
  const std::string anew = is_empty ? "" : config::to_yaml(tree);
  try {
    if (in_place && !is_empty && config::to_yaml(tree_of(*in_place)) == anew) {
      text = std::move(*in_place);
      return;
    }
  } catch (const config::Error&) {
    // What was put there is not so simple after all.
  }
  text = first_comments(text) + anew;
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

// The key of the value, or else of the key, that stands at a place.
std::string key_at(const Value& value, const std::string& name, int line, int column) {
  if (value.kind == Value::Kind::map) {
    for (const Entry& entry : value.entries) {
      std::string inner = name.empty() ? entry.key : name + "." + entry.key;
      if (entry.origin.line == line && entry.origin.column == column) return inner;
      if (std::string found = key_at(entry.value, inner, line, column); !found.empty())
        return found;
    }
    return value.origin.line == line && value.origin.column == column ? name : "";
  }
  for (const Value& item : value.items)
    if (!key_at(item, name, line, column).empty()) return name;
  return value.origin.line == line && value.origin.column == column ? name : "";
}

// A key that the message begins with or names first.
std::string key_named(std::string_view message) {
  std::string best;
  std::size_t first = std::string_view::npos;
  for (const config::KeyRow& row : config::scenario_keys()) {
    const std::size_t at = message.find(row.name);
    if (at == std::string_view::npos || at > 60) continue;
    const auto part_of_word = [&](std::size_t i) {
      return i < message.size() &&
             (std::isalnum(static_cast<unsigned char>(message[i])) != 0 || message[i] == '_');
    };
    if (part_of_word(at + row.name.size()) || (at > 0 && part_of_word(at - 1))) continue;
    if (at < first || (at == first && row.name.size() > best.size())) {
      first = at;
      best = row.name;
    }
  }
  return best;
}

}  // namespace

Value tree_of(const std::string& text) {
  const bool says_nothing = text.find_first_not_of(" \t\r\n") == std::string::npos ||
                            first_comments(text).size() == text.size();
  return says_nothing ? config::empty_scenario() : config::read_yaml_text(text, scenario_name);
}

std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) put(text, edit);
  return text;
}

std::map<std::string, std::string> values_of(const Value& tree) {
  std::map<std::string, std::string> values;
  add_values(tree, "", values);
  for (const std::string_view name : device_keys)
    if (const auto found = values.find(std::string(name)); found != values.end())
      values["parallel.pp"] = found->second;
  if (const auto found = values.find("num_batches"); found != values.end())
    values["microbatches"] = found->second;
  if (const auto found = values.find("schedule"); found != values.end())
    values["schedule.name"] = found->second;
  return values;
}

Fault fault_of(const std::string& message, const std::string& text) {
  Fault fault{.message = message};
  const std::string place = fmt::format("{}:", scenario_name);
  if (message.starts_with(place)) {
    const char* const end = message.data() + message.size();
    const char* at = message.data() + place.size();
    at = std::from_chars(at, end, fault.line).ptr;
    if (at != end && *at == ':') at = std::from_chars(at + 1, end, fault.column).ptr;
    while (at != end && (*at == ':' || *at == ' ')) ++at;
    fault.message = std::string(at, end);
  }
  try {
    if (fault.line > 0) fault.key = key_at(tree_of(text), "", fault.line, fault.column);
  } catch (const config::Error&) {
    return fault;  // no tree: the place alone is known
  }
  if (fault.key.empty()) fault.key = key_named(fault.message);
  if (is_of_devices(fault.key)) fault.key = "parallel.pp";
  if (fault.key == "schedule") fault.key = "schedule.name";
  return fault;
}

}  // namespace pipewright::serve
