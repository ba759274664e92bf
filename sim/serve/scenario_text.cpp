#include "sim/serve/scenario_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"

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

std::size_t offset_of(std::string_view text, int line, int column) {
  std::size_t at = 0;
  for (int i = 1; i < line; ++i) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return text.size();
    ++at;
  }
  return std::min(text.size(), at + static_cast<std::size_t>(std::max(1, column)) - 1);
}

bool is_plain(std::string_view text) {
  const auto ends_word = [](char c) { return c == ' ' || c == '-' || c == '?'; };
  return !text.empty() && !ends_word(text.front()) && text.back() != ' ' &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isalnum(c) != 0 ||
                  std::string_view("._%/+- $").find(static_cast<char>(c)) != std::string_view::npos;
         });
}

// Whether a plain value could be put where one is; all around it stays.
bool replace(std::string& text, const Value& old, const std::string& now) {
  if (old.kind != Value::Kind::text || old.origin.line == 0 || !is_plain(now)) return false;
  const std::size_t at = offset_of(text, old.origin.line, old.origin.column);
  if (old.text.empty() || text.compare(at, old.text.size(), old.text) != 0) return false;
  const std::size_t end = at + old.text.size();
  if (end < text.size() && std::string_view("\r\n ,}]").find(text[end]) == std::string_view::npos)
    return false;
  text.replace(at, old.text.size(), now);
  return true;
}

std::string first_comments(std::string_view text) {
  std::string comments;
  while (text.starts_with('#') || text.starts_with('\n')) {
    const std::size_t end = std::min(text.size(), text.find('\n') + 1);
    comments += text.substr(0, end == 0 ? text.size() : end);
    text.remove_prefix(end == 0 ? text.size() : end);
  }
  return comments;
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

void put(std::string& text, const Edit& edit) {
  const auto& [key, now] = edit;
  Value tree = tree_of(text);
  if (now.empty()) {
    if (is_of_devices(key))
      for (const std::string_view name : device_keys) remove(tree, name);
    else
      remove(tree, key);
  } else {
    if (const Value* const old = existing(tree, key))
      if (old->kind == Value::Kind::text && (old->text == now || replace(text, *old, now))) return;
    if (key == "schedule.name" && config::find(tree, "schedule") == nullptr)
      config::override_key(tree, "schedule", now, {.source = "schedule"});
    else
      config::override_key(tree, key, now, {.source = key});
  }
  const bool is_empty = tree.kind == Value::Kind::map && tree.entries.empty();
  text = first_comments(text) + (is_empty ? "" : config::to_yaml(tree));
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
      const std::string inner = name.empty() ? entry.key : name + "." + entry.key;
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
