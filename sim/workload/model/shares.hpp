#pragma once

#include <vector>

#include "schedules/routes.hpp"
#include "sim/config/gpu.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Sets which shares of each stage's kernel time belong to certain parts, as modelled for the GPU of
// the stage's first device. If microbatches differ: the shares that are proportional to pairs of
// queries and keys and to the tokens of the busiest experts, and the layers whose routing is drawn
// at random. If tokens are sent to experts: the share of the kernels between dispatch and
// combination.
void set_shares(const DeviceSettings& settings, const std::vector<config::Gpu>& gpus,
                const schedules::Routes& routes, const std::vector<StageParts>& stages,
                StageCosts& costs);

}  // namespace pipewright::workload
