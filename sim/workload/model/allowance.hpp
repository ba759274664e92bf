#pragma once

#include "schedules/schedule.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Whether a device keeps more the more microbatches the order of the passes has in flight.
bool needs_allowance(const config::Training& training);

// Adds to each device's allowance what depends on that order: training.fragmentation, a part of
// the activations, and the memory of CUDA graphs. With `layer` there is a graph for each layer's
// passes and microbatch in flight, with `iteration` one of all. Each kernel in a graph takes 20 KB
// of the device: 64 KB until CUDA 12.4 (PyTorch's notes on CUDA graph trees), of which 0.3 are left
// since (vllm-project/vllm#5517, 3.8 GiB against 1.14).
void add_allowance(const config::Training& training, const schedules::Schedule& schedule,
                   StageCosts& costs);

}  // namespace pipewright::workload
