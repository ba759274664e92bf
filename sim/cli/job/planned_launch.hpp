#pragma once

#include <memory>

#include "sim/cli/job/launch.hpp"
#include "sim/config/launch_plan.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {

// Plans the launch of a scenario with a single schedule on its cluster. A scenario that cannot be
// planned, such as one without a cluster, and one whose order is searched, has the plan of a job on
// an unknown cluster.
std::shared_ptr<const config::LaunchPlan> planned_launch(const config::Scenario& scenario);

// Function that does the same for candidates of a search. It reads the file of each cluster once.
PlanLaunch launch_planner();

}  // namespace pipewright::cli
