#pragma once

#include <cstdint>

#include "schedules/routes.hpp"
#include "sim/workload/model/model_job.hpp"
#include "sim/workload/stage_costs.hpp"

// Computes the costs of a schedule's passes from a model's shape, a layout and GPUs.
namespace pipewright::workload {

// Returns the costs for any placement of stages on the devices: all members of StageCosts that
// follow from a model. Throws config::Error if the layout or the partition does not fit the model.
StageCosts model_costs(const ModelJob& job, const schedules::Routes& routes,
                       std::uint32_t slices = 1);

}  // namespace pipewright::workload
