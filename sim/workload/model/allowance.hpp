#pragma once

#include "schedules/schedule.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Returns whether the training reserves memory that grows with a schedule's microbatches in flight,
// for fragmentation or CUDA graphs.
bool needs_allowance(const config::Training& training);

// Adds to each device's allowance the memory that depends on the schedule: training.fragmentation,
// a share of the activations, and the memory of CUDA graphs. With `layer` or modules there is one
// graph per pass of a layer and microbatch in flight, with `iteration` one graph of everything.
// Each kernel in a graph takes stack.memory.graph_kernel. We assume that graphs of modules share
// their buffers for inputs and outputs, as those of whole layers.
void add_allowance(const config::Training& training, const schedules::Schedule& schedule,
                   StageCosts& costs);

}  // namespace pipewright::workload
