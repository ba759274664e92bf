#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

using Gpus = std::vector<config::Gpu>;  // one per device, where a scenario has a model

// The scenario's model as it is trained on these GPUs. Holds references into both.
ModelJob model_job(const config::Scenario& scenario, const Gpus& gpus);

// Whether the scenario recomputes what makes nothing free, which only costs time.
bool recomputes_for_nothing(const config::Scenario& scenario);

// What a schedule's passes cost by the scenario's model. What the scenario says itself, of times,
// boundary tensors, activations and state, stands in place of what the model says.
StageCosts modelled_costs(const config::Scenario& scenario, const schedules::Schedule& schedule,
                          const Gpus& gpus);

}  // namespace pipewright::workload
