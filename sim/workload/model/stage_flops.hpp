#pragma once

#include <vector>

#include "sim/workload/model/partition.hpp"
#include "sim/workload/model/pass_seconds.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// FLOP of a microbatch through the whole model, and of F through stages of those layers.
void set_flops(const Setting& setting, const std::vector<LayerRange>& layers, StageCosts& costs);

}  // namespace pipewright::workload
