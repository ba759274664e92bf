#pragma once

#include "sim/workload/plan.hpp"

namespace pipewright::workload {

// What a schedule's passes cost by the scenario's model. What the scenario says itself, of times,
// boundary tensors, activations and state, stands in place of what the model says.
StageCosts modelled_costs(const config::Scenario& scenario, const schedules::Schedule& schedule,
                          const Gpus& gpus);

}  // namespace pipewright::workload
