#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// One schedule of a scenario, generated and checked, with what its passes cost.
struct Plan {
  schedules::Schedule schedule;
  StageCosts costs;
};

using Gpus = std::vector<config::Gpu>;  // one per device, where a scenario has a model

// Throws config::Error, at the place in the scenario that asked for what cannot be: an unknown
// schedule, sizes that it cannot do, a list of times that fits neither devices nor stages.
Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec,
               const Gpus& gpus = {});
// Of a schedule from elsewhere.
Plan make_plan(const config::Scenario& scenario, schedules::Schedule schedule,
               const Gpus& gpus = {});

// The times of a scenario's passes as given there: one time, or one per device, is shared by a
// device's chunks.
schedules::PassTimes pass_times(const config::Scenario& scenario,
                                const schedules::Schedule& schedule);

}  // namespace pipewright::workload
