#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"

// Settings of a scenario: the values of its keys by their dotted names, whether the scenario, its
// stack or a table of keys gives them.
namespace pipewright::config {

// Returns the row of a scenario's key, "training.bytes.weights", or null.
const KeyRow* scenario_key(std::string_view name);

// Replaces aliases of keys in a scenario's tree by the keys' own names.
void use_own_names(Value& tree);

// Setting with the texts that two scenarios have for it; empty: a scenario has neither a value nor
// a default.
struct SettingChange {
  std::string key;
  std::optional<std::string> was;
  std::optional<std::string> is;

  bool operator==(const SettingChange&) const = default;
};

// Returns the settings in which two scenarios differ, sorted by key. Both are canonical trees
// (Scenario::tree). A key that a scenario lacks has the value of the scenario's stack, or else its
// default. Left out are the number of iterations, keys that only describe a file, all keys but the
// names of unlike models and GPUs, and the times of layers, which count as a single setting.
std::vector<SettingChange> setting_changes(const Value& first, const Value& other);

// Returns whether a stack has the name of a stack of the library, but other settings. `stack` is a
// complete map. The default stack may have all schedules.
bool is_changed_stack(const Value& stack);

}  // namespace pipewright::config
