#include "sim/config/keys.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::config {
namespace {

std::string full_name(const Field& map, std::string_view key) {
  return map.name.empty() ? std::string(key) : fmt::format("{}.{}", map.name, key);
}

Error unknown_key(const Field& map, const Entry& entry, std::span<const KeyInfo> keys) {
  std::vector<std::string_view> names;
  std::vector<std::string> allowed;
  for (const KeyInfo& key : keys) {
    names.push_back(key.name);
    if (!key.alias.empty()) names.push_back(key.alias);
    allowed.push_back(key.alias.empty() ? std::string(key.name)
                                        : fmt::format("{} (or {})", key.name, key.alias));
  }
  const std::string place = map.name.empty() ? "" : fmt::format(" in {}", map.name);
  return Error(entry.origin, fmt::format("unknown key {}{}", in_quotes(entry.key), place),
               full_name(map, entry.key))
      .suggest_name(nearest_name(entry.key, names))
      .allow(fmt::format("{}", fmt::join(allowed, ", ")));
}

}  // namespace

Error missing(const Field& map, const KeyInfo& key) {
  const std::string name = full_name(map, key.name);
  // The error about a whole scenario names only the file, without a line.
  Origin place = map.value.origin;
  if (map.name.empty()) place.line = 0;
  return Error(place, fmt::format("{} is missing: {}", name, key.help), name)
      .offer_option(key.flag);
}

std::string help_line(const KeyRow& row) {
  std::string line(row.info.help);
  if (row.value.type == ValueType::choice && !row.value.choices.empty()) {
    const auto& names = row.value.choices;
    line += fmt::format(": {}", fmt::join(names.begin(), names.end() - 1, ", "));
    if (!row.value.list_choices.empty())
      line += fmt::format(", {}, or a list of {}", names.back(),
                          fmt::join(row.value.list_choices, ", "));
    else if (row.value.list)
      line += fmt::format(", {}, or a list", names.back());
    else
      line += fmt::format(" or {}", names.back());
  }
  if (!row.info.default_value.empty()) line += fmt::format(" ({})", row.info.default_value);
  return line;
}

std::vector<KeyRow> with_inner_rows(std::vector<KeyRow> rows) {
  std::vector<KeyRow> flat;
  for (KeyRow& row : rows) {
    const std::string name = row.name;
    auto* const inner = row.value.keys;
    flat.push_back(std::move(row));
    if (inner == nullptr) continue;
    for (KeyRow& inner_row : inner()) {
      inner_row.name = fmt::format("{}.{}", name, inner_row.name);
      flat.push_back(std::move(inner_row));
    }
  }
  return flat;
}

std::vector<std::string> read_key_names(const Field& field, std::span<const KeyRow> rows,
                                        std::string_view allowed) {
  std::vector<std::string> names;
  for (const Field& item : items(field, allowed)) {
    const std::string& name = read_text(item, allowed);
    if (std::ranges::find(rows, name, &KeyRow::name) == rows.end()) throw wrong(item, allowed);
    names.push_back(name);
  }
  return names;
}

std::vector<const Entry*> match_keys(const Field& map, std::span<const KeyInfo> keys) {
  if (map.value.kind != Value::Kind::map) {
    std::vector<std::string_view> names;
    for (const KeyInfo& key : keys) names.push_back(key.name);
    const std::string allowed = fmt::format("a map with keys of: {}", fmt::join(names, ", "));
    throw wrong({map.value, map.name.empty() ? "the scenario" : map.name}, allowed);
  }
  std::vector<const Entry*> entries(keys.size());
  for (const Entry& entry : map.value.entries) {
    const auto key = std::ranges::find_if(keys, [&](const KeyInfo& candidate) {
      return candidate.name == entry.key ||
             (!candidate.alias.empty() && candidate.alias == entry.key);
    });
    if (key == keys.end()) throw unknown_key(map, entry, keys);
    const Entry*& slot = entries[static_cast<std::size_t>(key - keys.begin())];
    if (slot != nullptr)
      throw Error(entry.origin, fmt::format("{} is another name of {}, which is given at {}",
                                            entry.key, slot->key, to_string(slot->origin)))
          .suggest("leave out one of them");
    slot = &entry;
  }
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i].required && entries[i] == nullptr) throw missing(map, keys[i]);
  return entries;
}

}  // namespace pipewright::config
