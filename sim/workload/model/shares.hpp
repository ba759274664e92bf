#pragma once

#include <vector>

#include "schedules/routes.hpp"
#include "sim/config/gpu.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Which parts of each stage's kernels are what, as the model has them on the GPU of the stage's
// first device: where microbatches differ, those that go by pairs of queries and keys or by the
// tokens of the busiest experts, with the layers whose routing is drawn; where tokens are sent to
// experts, those between that and their way back.
void set_shares(const DeviceSettings& settings, const std::vector<config::Gpu>& gpus,
                const schedules::Routes& routes, const std::vector<StageParts>& stages,
                StageCosts& costs);

}  // namespace pipewright::workload
