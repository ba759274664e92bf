#pragma once

#include <vector>

#include "schedules/routes.hpp"
#include "sim/workload/model/model_job.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/shape/partition.hpp"

namespace pipewright::workload {

// Returns which parts of the model each virtual stage holds. Throws config::Error if the layout or
// the partition does not fit the model.
std::vector<StageParts> model_partition(const ModelJob& job, const schedules::Routes& routes);
// The same from the times of the model's parts on each device.
std::vector<StageParts> model_partition(const ModelJob& job, const schedules::Routes& routes,
                                        const std::vector<StageSums>& seconds);

// Throws std::logic_error if a stage is on a device without a GPU.
void check_gpus(const ModelJob& job, const schedules::Routes& routes);

}  // namespace pipewright::workload
