#pragma once

#include <memory>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"
#include "sim/workload/uneven.hpp"

namespace pipewright::workload {

// Differences in the work of microbatches that follow from the scenario's documents and from the
// routing of its experts, for passes with these costs. Null if all microbatches are equal.
std::shared_ptr<const Uneven> uneven_work(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule,
                                          const StageCosts& costs);

}  // namespace pipewright::workload
