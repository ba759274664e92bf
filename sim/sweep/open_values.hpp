#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/scenario_tree.hpp"

// The open places of a sweep's scenario, and the values that they allow.
namespace pipewright::search {

// Returns whether a text begins like a range: "1..8", "8..64 step 8", "1..64 x2". Paths do not.
bool is_range(std::string_view text);

// The whole numbers of a range, with its end if a step meets it. Throws config::Error.
std::vector<std::string> range_values(const config::Field& field);

// Removes values that equal an earlier one, wherever they were written.
std::vector<config::Value> without_repeats(std::vector<config::Value> values);

struct OpenPlace {
  std::string key;                // canonical name, "parallel.tp"
  std::vector<std::size_t> path;  // index of the entry or item at each level
  config::Origin origin;
  bool automatic = false;             // the value is `auto`
  std::vector<config::Value> values;  // distinct alternatives; empty for `auto`
};

// The open places in the order of the scenario. A schedule, model, GPU or cluster is a single
// place: lists inside it are expanded to alternatives of the whole. Throws config::Error.
std::vector<OpenPlace> open_places(const config::Value& scenario);

}  // namespace pipewright::search
