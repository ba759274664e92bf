#pragma once

#include "schedules/schedule.hpp"
#include "sim/config/launch_plan.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/scenario_run.hpp"

namespace pipewright::evaluation {

// Returns what a launch of the scenario takes from its hardware and from the plan of one of its
// schedules. The result refers to all arguments but the hardware.
config::LaunchPlan launch_plan(const config::Scenario& scenario, const Hardware& hardware,
                               const schedules::Schedule& schedule);
// The same of a run, for its schedule with this index.
config::LaunchPlan launch_plan(const ScenarioRun& run, std::size_t schedule);

}  // namespace pipewright::evaluation
