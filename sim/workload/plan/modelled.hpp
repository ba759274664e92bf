#pragma once

#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

using Gpus = std::vector<config::Gpu>;  // one per device if the scenario has a model

// Returns the expected ratio of the pass times of the slowest replica to those of the slowest of
// eight replicas, at least 1. Numbers of GPU files stand for eight replicas. The ratio is 1 if the
// scenario gives pass times or draws random ones.
double slowest_replica(const config::Scenario& scenario);

// Combines the parts of a scenario that determine the costs of its model on these GPUs. The result
// refers to both arguments, which must outlive it.
ModelJob model_job(const config::Scenario& scenario, const Gpus& gpus);

// Returns whether the recomputation that the scenario sets frees no memory and only costs time.
bool recomputes_for_nothing(const config::Scenario& scenario);

// Returns the costs of a schedule's passes as the scenario's model predicts them. Times, boundary
// tensors, activations and state that the scenario gives replace the modelled ones.
StageCosts modelled_costs(const config::Scenario& scenario, const schedules::Schedule& schedule,
                          const Gpus& gpus);

}  // namespace pipewright::workload
