#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/scenario_tree.hpp"

// The open keys of a sweep's scenario: those with several alternatives instead of one value.
namespace pipewright::search {

// Returns whether a text has the form of a range: "1..8", "8..64 step 8", "1..64 x2". Paths such as
// "../a" are none.
bool is_range(std::string_view text);

// Returns the whole numbers of a range. The upper end is included if the steps reach it exactly.
// Throws config::Error.
std::vector<std::string> range_values(const config::Field& field);

// Removes values that equal an earlier value in the list. Where they were written does not matter.
std::vector<config::Value> without_repeats(std::vector<config::Value> values);

struct OpenKey {
  std::string name;               // canonical name, "parallel.tp"
  std::vector<std::size_t> path;  // index of the entry or item at each level
  config::Origin origin;
  bool automatic = false;             // the value is `auto`
  std::vector<config::Value> values;  // distinct alternatives; empty for `auto`
};

// Returns the open keys in the order of the scenario. A schedule, model, GPU or cluster counts as a
// single key: if a list of alternatives is inside, each alternative is a copy of the whole. Throws
// config::Error.
std::vector<OpenKey> open_keys(const config::Value& scenario);

}  // namespace pipewright::search
