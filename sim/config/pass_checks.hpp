#pragma once

#include <string_view>

#include "sim/config/scenario.hpp"

namespace pipewright::config {

// Checks the keys that describe passes: their times, and the size of a microbatch.
void check_passes(const Scenario& scenario, const Value& root);

// Returns the error for a key that a scenario must have.
Error missing_key(const Value& root, std::string_view name);

}  // namespace pipewright::config
