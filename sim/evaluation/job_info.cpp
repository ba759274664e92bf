#include "sim/evaluation/job_info.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/settings.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/evaluation/job_traffic.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/workload/batch/batch.hpp"
#include "sim/workload/shape/shape.hpp"

namespace pipewright::evaluation {
namespace {

// Names of the GPU types: first those of the first replica's devices, in order, then those that
// only other replicas use.
std::string gpu_names(const config::Scenario& scenario, const Hardware& hardware) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const config::Gpu& gpu : hardware.gpus) add(gpu.name);
  if (names.empty() && scenario.gpu) add(scenario.gpu->name);
  // Other replicas may have GPUs of other types.
  if (hardware.is_mixed)
    for (const cluster::Host* host : hardware.hosts) add(cluster::gpu_of(host));
  return fmt::format("{}", fmt::join(names, " and "));
}

// Text for what is in host memory: "none", "all layers", "4 layers a stage; the optimizer".
std::string offload_text(const config::Training& training) {
  std::vector<std::string> texts;
  if (training.offload) texts.push_back(to_string(*training.offload));
  if (training.optimizer.offload) texts.push_back(to_string(*training.optimizer.offload));
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

analysis::JobInfo job_info(const config::Scenario& scenario, const Hardware& hardware,
                           const workload::Plan& plan) {
  const config::Parallel& parallel = scenario.parallel;
  analysis::JobInfo job{
      .gpu = gpu_names(scenario, hardware),
      .tp = parallel.tp.value,
      .tp_by_device = parallel.tp_by_device.empty() ? "" : parallel.tp_text(),
      .cp = parallel.cp.value,
      .ep = parallel.ep.value,
      .etp = parallel.expert_tp(),
      .dp = parallel.dp.value,
      .replicate = parallel.replicates(),
      .gtp = parallel.gtp_size(),
      .expert_gtp = parallel.expert_gtp_size(),
      .pp = parallel.pp.value,
      .sequence_parallel = parallel.sequence,
      .zero = parallel.zero,
      .symmetric = scenario.symmetric,
      .straddling = straddling(hardware.ranks, hardware.hosts, hardware.cluster).groups,
      .untried = untried(scenario, hardware, plan)};
  for (const auto& tp : parallel.tp_by_device) job.tp_each.push_back(tp.value);
  if (!scenario.model) return job;
  const config::Model& model = scenario.model->value;
  const config::Training& training = scenario.training;
  job.model = model.name.empty() ? "a model without a name" : model.name;
  job.stack = training.stack.name;
  if (const config::Value* const stack = config::find(scenario.tree, "stack"))
    job.is_changed_stack = config::is_changed_stack(*stack);
  job.global_batch =
      std::uint64_t{scenario.microbatches.value} * parallel.dp.value * training.microbatch_size;
  job.microbatch_size = training.microbatch_size;
  job.sequence = training.sequence.value_or(model.sequence);
  job.precision = to_string(precision_of(training));
  job.cuda_graphs = to_string(training.cuda_graphs);
  job.flash_attention = training.flash_attention;
  job.recompute = to_string(training.recompute);
  job.offload = offload_text(training);
  job.optimizer = to_string(training.optimizer, parallel.zero);
  job.trained = config::trained_text(model, training);
  job.partition = to_string(scenario.partition);
  if (model.experts && parallel.ep.value > 1) {
    job.dispatch = config::dispatch_text(training.experts);
    job.routing = config::routing_text(training.experts);
  }
  if (!training.lengths) return job;
  job.lengths = config::to_string(*training.lengths);
  const auto batch = workload::batch_of(training, workload::sequence_of(model, training));
  job.padding = 1 - batch->real.tokens / batch->computed.tokens;
  return job;
}

}  // namespace pipewright::evaluation
