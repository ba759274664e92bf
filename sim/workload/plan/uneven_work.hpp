#pragma once

#include <memory>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"
#include "sim/workload/uneven.hpp"

namespace pipewright::workload {

// What a scenario says of its documents and of its experts' routing, for passes that cost this.
// Null where all microbatches are alike.
std::shared_ptr<const Uneven> uneven_work(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule,
                                          const StageCosts& costs);

}  // namespace pipewright::workload
