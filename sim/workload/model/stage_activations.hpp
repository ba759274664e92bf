#pragma once

#include <cstdint>
#include <vector>

#include "schedules/routes.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Returns the activation memory of a stage. Routed experts are assumed to get the number of tokens
// that memory must suffice for, which is above the mean if the routing is random.
Activations activations_of(const ModelSetting& mean_setting, const StageParts& stage,
                           std::uint32_t slices);

// Adds the buffers for offloaded activations. A device runs one pass at a time, so the largest
// buffers of any of its stages are enough.
void add_offload_buffers(const DeviceSettings& settings, const schedules::Routes& routes,
                         std::uint32_t slices, const std::vector<StageParts>& stages,
                         StageCosts& costs);

// Adds the buffers of a vocabulary that is split over the devices: a device stores its part of a
// microbatch's logits and of their gradient, and the hidden states that it received, in fp32 unless
// the vocabulary is interlaced, as in the authors' program.
void add_vocabulary_buffers(const ModelSetting& setting, StageCosts& costs);

}  // namespace pipewright::workload
