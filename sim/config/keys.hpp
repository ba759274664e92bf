#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/fields.hpp"

// Maps are read by tables: one row a key, from which come the reading, the list of allowed keys,
// the message for a missing one and the help.
namespace pipewright::config {

struct KeyInfo {
  std::string_view name;
  std::string_view alias = {};  // another name that means the same; may be empty
  std::string_view flag = {};   // of the command line, "-s/--num-stages"; may be empty
  std::string_view help = {};   // one line: what it is and what is allowed
  bool required = false;
};

template <class Target>
struct Key {
  KeyInfo info;
  void (*read)(const Field&, Target&);
};

// "gpt.yaml: forward_times is missing; ...", for a key that only others make needless.
Error missing(const Field& map, const KeyInfo& key);

// The entry of `map` that belongs to each key, or null. Errors: an unknown key, a key that is
// given by both its names, a required one that is missing, and a value that is no map.
std::vector<const Entry*> match_keys(const Field& map, std::span<const KeyInfo> keys);

template <class Table>
std::vector<KeyInfo> key_infos(const Table& table) {
  std::vector<KeyInfo> infos;
  for (const auto& key : table) infos.push_back(key.info);
  return infos;
}

// Reads a map into `target`, in the order of the table. `map.name` is empty for the scenario
// itself and else stands before the names of keys, "activation.per_microbatch".
template <class Target>
void read_keys(const Field& map, std::span<const Key<Target>> keys, Target& target) {
  const std::vector<const Entry*> entries = match_keys(map, key_infos(keys));
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (const Entry* const entry = entries[i])
      keys[i].read({entry->value, map.name.empty() ? entry->key : map.name + "." + entry->key},
                   target);
}

}  // namespace pipewright::config
