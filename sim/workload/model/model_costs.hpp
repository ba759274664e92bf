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

// From a model's shape, a layout and GPUs to what the passes of a schedule cost.
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

// Everything of StageCosts, for any placement of stages on the devices. Throws config::Error where
// the layout or the partition does not fit the model.
StageCosts model_costs(const ModelJob& job, const schedules::Routes& routes,
                       std::uint32_t slices = 1);

// What collectives leave to compute beside them; `communication.sms` are fewer than there are.
std::uint32_t processors_beside_collectives(const config::Gpu& gpu,
                                            const config::Communication& communication);

// What each virtual stage has.
std::vector<StageParts> model_partition(const ModelJob& job, const schedules::Routes& routes);

}  // namespace pipewright::workload
