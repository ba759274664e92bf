#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"

// Access to the tree of values of a scenario: properties of its keys, the value at a path, and
// copies without line numbers.
namespace pipewright::search {

// Returns the table of all keys that a scenario may have.
const std::vector<config::KeyRow>& scenario_rows();

// Returns the canonical name of a scenario key: "parallel.tp" for its alias "parallel.tensor".
std::string canonical_key(std::string_view key);

// Returns whether the table of scenario keys has a key of this canonical name.
bool is_key(std::string_view canonical_key);

// Returns whether a list is one value of this key, so that alternatives can only be given with
// `any_of`. If the key has names for the items of a list, a list with any other item is a list of
// alternatives. For other values: returns whether the key can have a list.
bool takes_list(std::string_view canonical_key, const config::Value& value);

// Returns whether a key can only have alternatives for its whole value and not inside it: schedule,
// model, gpu, cluster.
bool is_whole(std::string_view canonical_key);

// Returns whether a key is inside the value of a key for which is_whole() holds, such as
// "model.layers".
bool is_in_whole(std::string_view canonical_key);

// Returns the value that is reached from `root` by following the indices of entries or items in
// `path`.
config::Value& at_path(config::Value& root, const std::vector<std::size_t>& path);

// A key of a scenario whose value is a text.
struct Scalar {
  std::string key;
  std::string text;
};
// Returns the scalars inside a value whose key is `key` ("" for the whole scenario), without those
// in lists. A list of the tp of each device counts as the scalars tp and pp.
std::vector<Scalar> scalars(const config::Value& value, const std::string& key);

// Returns whether a value is `auto`, which stands for all possible values.
bool is_auto(const config::Value& value);

// Returns a value as YAML on one line: "full", "[7, 8, 8, 7]".
std::string line_of(const config::Value& value);

// Removes parallel.hierarchical_context_parallel_sizes from a candidate whose cp_comm_type does not
// use them, so that a sweep can compare a2a+p2p with the other kinds.
void drop_unused_cp_sizes(config::Value& scenario);

// Returns a copy of a value that does not store the lines where its parts were written, so that
// copies are fast and error messages name keys only.
config::Value without_origins(config::Value value);

}  // namespace pipewright::search
