#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/routes.hpp"
#include "schedules/schedule.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/partition.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/shape/partition.hpp"
#include "sim/workload/stage_costs.hpp"

// Computes the costs of a schedule's passes from a model's shape, a layout and GPUs.
namespace pipewright::workload {

struct ModelJob {
  const config::Model& model;
  const config::Training& training;
  const config::Parallel& parallel;
  const config::Partition& partition;
  const std::vector<config::Gpu>& gpus;  // one per pipeline device
  config::Communication communication = {};
  std::optional<config::LayerTimes> measured = {};
};

// Returns the costs for any placement of stages on the devices: all members of StageCosts that
// follow from a model. Throws config::Error if the layout or the partition does not fit the model.
StageCosts model_costs(const ModelJob& job, const schedules::Routes& routes,
                       std::uint32_t slices = 1);

// Returns the number of a GPU's processors (SMs) that are left for compute while the kernels of
// collectives occupy the others. `communication.sms` must be less than the GPU has.
std::uint32_t processors_beside_collectives(const config::Gpu& gpu,
                                            const config::Communication& communication);

// Returns which parts of the model each virtual stage holds.
std::vector<StageParts> model_partition(const ModelJob& job, const schedules::Routes& routes);

}  // namespace pipewright::workload
