#pragma once

#include "sim/config/scenario.hpp"

namespace pipewright::config {

// Checks that the layout shards what keys of the optimizer and of gathered weights require.
void check_sharding(const Scenario& scenario, const Value& root);

}  // namespace pipewright::config
