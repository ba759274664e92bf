#include "sim/workload/model/stage_partition.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::workload {
namespace {

using schedules::Routes;

// Sets the properties of stages that depend on where their neighbours are: whether boundary tensors
// go to another device, and whether a device needs a copy of the embedding, for a head that is tied
// to it or for multi-token prediction (the device may have one for the head already). If two routes
// run in opposite directions, the devices at both ends have both embedding and head.
void set_neighbours(const config::Model& model, const Routes& routes,
                    std::vector<StageParts>& stages) {
  const std::uint32_t last = routes.stages() - 1;
  for (std::uint32_t stage = 0; stage < last; ++stage)
    stages[stage].sends = stages[stage + 1].receives =
        routes.device(stage, 0) != routes.device(stage + 1, 0);
  const auto lacks = [&](std::uint32_t stage, std::uint32_t reference) {
    return devices_of(routes, stage) != devices_of(routes, reference);
  };
  for (std::uint32_t stage = 0; stage < last; ++stage)
    stages[stage].embedding_copy =
        stages[stage].mtp > 0 && lacks(stage, 0) && (!model.tied_embeddings || lacks(stage, last));
  stages[last].embedding_copy = (model.tied_embeddings || stages[last].mtp > 0) && lacks(last, 0);
}

}  // namespace

void check_gpus(const ModelJob& job, const Routes& routes) {
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage))
      if (device >= job.gpus.size())
        throw std::logic_error("model_partition: fewer GPUs than pipeline devices");
}

std::vector<StageParts> model_partition(const ModelJob& job, const Routes& routes,
                                        const std::vector<StageSums>& seconds) {
  // The first stage of each device has a part of the embedding and of the head if the vocabulary is
  // split over the pipeline, and then no stage needs another one's embedding.
  const auto take_vocabulary = [&](std::uint32_t stage, StageParts& parts) {
    if (!job.parallel.cuts_vocabulary()) return;
    parts.splits_vocabulary = routes.chunk(stage, 0) == 0;
    parts.embedding = parts.head = parts.splits_vocabulary;
  };
  if (job.partition.own_encoder && routes.count() > 1)
    throw config::Error(job.training.vision->origin,
                        "modules.vision.placement is own_ranks, and this schedule runs the first "
                        "stage on devices that have other stages, too")
        .allow("first_stage");
  std::vector<std::uint32_t> device_of;
  std::vector<std::vector<std::uint32_t>> devices_of_stage;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    device_of.push_back(routes.device(stage, 0));
    devices_of_stage.push_back(devices_of(routes, stage));
  }
  const StageSeconds stage_seconds = [&](std::uint32_t stage, LayerRange layers) {
    StageParts parts = stage_with(job.model, job.partition, routes.stages(), stage, layers);
    take_vocabulary(stage, parts);
    double slowest = 0;
    for (const std::uint32_t device : devices_of_stage[stage])
      slowest = std::max(slowest, seconds[device].total_seconds(parts));
    return slowest;
  };
  std::vector<StageParts> stages =
      partition_stages(job.model, job.partition, device_of, stage_seconds);
  set_neighbours(job.model, routes, stages);
  if (job.parallel.cuts_vocabulary())
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      take_vocabulary(stage, stages[stage]);
      stages[stage].embedding_copy = false;
    }
  return stages;
}

std::vector<StageParts> model_partition(const ModelJob& job, const Routes& routes) {
  check_layout(job.model, job.training, job.parallel);
  check_gpus(job, routes);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  return model_partition(job, routes, stage_sums(settings, job.gpus, job.measured));
}

}  // namespace pipewright::workload
