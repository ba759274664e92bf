#pragma once

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// One schedule of a scenario, generated and checked, with what its passes cost.
struct Plan {
  schedules::Schedule schedule;
  StageCosts costs;
};

// Throws config::Error, at the place in the scenario that asked for what cannot be: an unknown
// schedule, sizes that it cannot do, a list of times that fits neither devices nor stages.
Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec);
// Of a schedule from elsewhere.
Plan make_plan(const config::Scenario& scenario, schedules::Schedule schedule);

// The times of its passes alone: one time, or one per device, is shared by a device's chunks.
schedules::PassTimes pass_times(const config::Scenario& scenario,
                                const schedules::Schedule& schedule);

}  // namespace pipewright::workload
