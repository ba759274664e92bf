#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/scenario_tree.hpp"

// Where a sweep leaves its scenario open, and what may stand there.
namespace pipewright::search {

// Whether a text begins as a range does: "1..8", "8..64 step 8", "1..64 x2". A path does not.
bool is_range(std::string_view text);

// The whole numbers of a range, both ends included where the steps meet them.
std::vector<std::string> range_values(const config::Field& field);

// The first of each that are the same but for where they were written.
std::vector<config::Value> without_repeats(std::vector<config::Value> values);

struct OpenPlace {
  std::string key;                // by its canonical name, "parallel.tp"
  std::vector<std::size_t> path;  // which entry or item of each value on the way
  config::Origin origin;
  bool automatic = false;             // `auto`, which others work out
  std::vector<config::Value> values;  // else what may stand there, without two that are the same
};

// In the order of the scenario. Lists and maps inside a schedule, model, GPU or cluster are spelled
// out: their places are the keys themselves. Throws config::Error.
std::vector<OpenPlace> open_places(const config::Value& scenario);

}  // namespace pipewright::search
