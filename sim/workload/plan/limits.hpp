#pragma once

#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Throws config::Error where costs are beyond what can be simulated: passes and steps of more than
// 1e9 s, which is what a scenario may give, and more than 1e5 buckets of gradients a stage.
void check_limits(const config::Scenario& scenario, const StageCosts& costs);

}  // namespace pipewright::workload
