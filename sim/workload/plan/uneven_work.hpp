#pragma once

#include <memory>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"
#include "sim/workload/uneven.hpp"

namespace pipewright::workload {

// Returns how the work of microbatches differs, because of the scenario's documents and the routing
// of its experts, for passes with these costs. Null if all microbatches are equal.
std::shared_ptr<const Uneven> uneven_work(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule,
                                          const StageCosts& costs);

}  // namespace pipewright::workload
