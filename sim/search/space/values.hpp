#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/config/text/value.hpp"

// What a sweep does with the tree of values that a scenario is.
namespace pipewright::search {

// The place that a path leads to.
config::Value& at_path(config::Value& root, const std::vector<std::size_t>& path);

// The texts in a value that stands under a key ("": the scenario), lists left out.
struct Scalar {
  std::string key;
  std::string text;
};
std::vector<Scalar> scalars(const config::Value& value, const std::string& key);

// On one line, as YAML: "full", "[7, 8, 8, 7]".
std::string line_of(const config::Value& value);

// Without the places where things were written: quick to copy, and messages name keys alone.
config::Value without_origins(config::Value value);

}  // namespace pipewright::search
