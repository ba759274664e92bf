#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"
#include "sim/search/space/keys.hpp"
#include "sim/search/space/values.hpp"

// Where a sweep leaves its scenario open, and what may stand there.
namespace pipewright::search {

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
