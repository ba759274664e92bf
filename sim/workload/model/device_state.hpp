#pragma once

#include <cstdint>
#include <vector>

#include "schedules/routes.hpp"
#include "sim/workload/model/model_job.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

namespace pipewright::workload {

// Sets each device's memory for weights, gradients, optimizer state and buffers, and the time of
// its optimizer step.
void set_state(const ModelJob& job, const DeviceSettings& settings, const schedules::Routes& routes,
               std::uint32_t slices, const std::vector<StageParts>& stages,
               const std::vector<Parameters>& parameters, StageCosts& costs);

}  // namespace pipewright::workload
