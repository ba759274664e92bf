#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"

// Access to a scenario's tree of values: properties of its keys, the value at a path, and
// copies without locations.
namespace pipewright::search {

// The table of scenario keys.
const std::vector<config::KeyRow>& scenario_rows();

// Canonical name of a scenario key: "parallel.tp" for its alias "parallel.tensor".
std::string canonical_key(std::string_view key);

// Returns whether the table has a key of this canonical name.
bool is_key(std::string_view canonical_key);

// Returns whether a list is a single value of the key, so that alternatives need `any_of`.
bool takes_list(std::string_view canonical_key);

// Returns whether only the whole value of a key can be open: schedule, model, gpu, cluster.
bool is_whole(std::string_view canonical_key);

// Returns whether a key is inside such a value, such as "model.layers".
bool is_in_whole(std::string_view canonical_key);

// The value that a path leads to.
config::Value& at_path(config::Value& root, const std::vector<std::size_t>& path);

// A key with a text as its value.
struct Scalar {
  std::string key;
  std::string text;
};
// The scalars of a value under a key ("" for the scenario), without lists. A list of tp by device
// counts as tp and pp.
std::vector<Scalar> scalars(const config::Value& value, const std::string& key);

// Returns whether a value is `auto`, which stands for all possible values.
bool is_auto(const config::Value& value);

// A value as YAML on one line: "full", "[7, 8, 8, 7]".
std::string line_of(const config::Value& value);

// Removes the places where values were written, so that copies are fast and messages name keys
// only.
config::Value without_origins(config::Value value);

}  // namespace pipewright::search
