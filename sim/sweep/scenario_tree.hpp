#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"

// The tree of values that a scenario is, and its keys, as a sweep sees them.
namespace pipewright::search {

// The table of keys.
const std::vector<config::KeyRow>& scenario_rows();

// The name that a scenario's key goes by, where "parallel.tensor" is "parallel.tp".
std::string canonical_key(std::string_view key);

// Whether a scenario has such a key, by its canonical name.
bool is_key(std::string_view canonical_key);

// Keys of which a list is one value, so that alternatives need `any_of`.
bool takes_list(std::string_view canonical_key);

// Whether only a value as a whole is open: schedule, model, gpu, cluster.
bool is_whole(std::string_view canonical_key);

// Whether a key is one of those within such a value, "model.layers".
bool is_in_whole(std::string_view canonical_key);

// The place that a path leads to.
config::Value& at_path(config::Value& root, const std::vector<std::size_t>& path);

// The texts in a value that stands under a key ("": the scenario), lists left out; for one of a tp
// by device there are tp and pp.
struct Scalar {
  std::string key;
  std::string text;
};
std::vector<Scalar> scalars(const config::Value& value, const std::string& key);

// `auto`: all that can be.
bool is_auto(const config::Value& value);

// On one line, as YAML: "full", "[7, 8, 8, 7]".
std::string line_of(const config::Value& value);

// Without the places where things were written: quick to copy, and messages name keys alone.
config::Value without_origins(config::Value value);

}  // namespace pipewright::search
