#include "sim/workload/model/model_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/by_stage.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/calls.hpp"
#include "sim/workload/model/measured.hpp"
#include "sim/workload/model/offload.hpp"
#include "sim/workload/model/shares.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/layout_checks.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Routes;

std::uint64_t whole(double bytes) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes)));
}

// What depends on where stages are: whether they talk with their neighbours, and whether a device
// lacks the embedding that the head is tied to, or that multi-token prediction needs, whose device
// may have a copy for the head already. Where two routes run in opposite directions, both ends have
// both.
void place(const config::Model& model, const Routes& routes, std::vector<StageParts>& stages) {
  const std::uint32_t last = routes.stages() - 1;
  for (std::uint32_t stage = 0; stage < last; ++stage)
    stages[stage].sends = stages[stage + 1].receives =
        routes.device(stage, 0) != routes.device(stage + 1, 0);
  const auto lacks = [&](std::uint32_t stage, std::uint32_t other) {
    return devices_of(routes, stage) != devices_of(routes, other);
  };
  for (std::uint32_t stage = 0; stage < last; ++stage)
    stages[stage].embedding_copy =
        stages[stage].mtp > 0 && lacks(stage, 0) && (!model.tied_embeddings || lacks(stage, last));
  stages[last].embedding_copy = (model.tied_embeddings || stages[last].mtp > 0) && lacks(last, 0);
}

void check_gpus(const ModelJob& job, const Routes& routes) {
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage))
      if (device >= job.gpus.size())
        throw std::logic_error("model_costs: fewer GPUs than pipeline devices");
}

std::vector<StageParts> partition(const ModelJob& job, const Routes& routes,
                                  const std::vector<StageSums>& seconds) {
  // Each stage has its part of both, and none is tied to another's.
  const auto cut = [&](StageParts& parts) {
    if (job.parallel.cuts_vocabulary()) parts.embedding = parts.head = true;
  };
  std::vector<std::uint32_t> device_of;
  std::vector<std::vector<std::uint32_t>> all_of;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    device_of.push_back(routes.device(stage, 0));
    all_of.push_back(devices_of(routes, stage));
  }
  const StageSeconds stage_seconds = [&](std::uint32_t stage, LayerRange layers) {
    StageParts parts = stage_with(job.model, job.partition, routes.stages(), stage, layers);
    cut(parts);
    double slowest = 0;
    for (const std::uint32_t device : all_of[stage])
      slowest = std::max(slowest, seconds[device].longest(parts));
    return slowest;
  };
  std::vector<StageParts> stages =
      partition_stages(job.model, job.partition, device_of, stage_seconds);
  place(job.model, routes, stages);
  if (job.parallel.cuts_vocabulary())
    for (StageParts& stage : stages) {
      cut(stage);
      stage.embedding_copy = false;
    }
  return stages;
}

// Times of the passes of all stages: of the GPU's kernels, and with what its host waits add.
struct PassesOfStages {
  schedules::PassTimes kernels;
  schedules::PassTimes all;
  schedules::PassTimes launches;  // of the host alone
};

// Of a stage that lives on several devices, of the slowest. A slice of a microbatch has a part of
// its work, and as many launches.
PassesOfStages pass_times(const ModelJob& job, const DeviceSettings& settings, const Routes& routes,
                          std::uint32_t slices, const std::vector<StageParts>& stages,
                          const std::vector<StageSums>& seconds) {
  PassesOfStages times;
  for (auto* const of_kinds : {&times.kernels, &times.all, &times.launches})
    for (auto& of_stage : of_kinds->of_stage) of_stage.assign(routes.stages(), 0);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const StageParts& parts = stages[stage];
    for (const std::uint32_t device : devices_of(routes, stage)) {
      const double to_host = offloaded(settings[device], parts).bytes;
      const auto [kernels, launches] = seconds[device].of(parts);
      const double overhead = job.gpus[device].pass_overhead;
      const double copy = copy_seconds(job.training, job.gpus[device], to_host);
      const auto set = [&](PassKind kind, double busy, double host) {
        double& of_gpu = times.kernels[kind][stage];
        double& of_both = times.all[kind][stage];
        double& of_host = times.launches[kind][stage];
        of_gpu = std::max(of_gpu, overhead + busy / slices);
        of_host = std::max(of_host, overhead + host);
        of_both = std::max(of_both, overhead + std::max(busy / slices, host));
      };
      set(PassKind::forward, std::max(copy, kernels.forward), launches.forward);
      set(PassKind::recompute, kernels.forward, launches.forward);
      set(PassKind::input_grad, std::max(copy, kernels.before_weight_grad()),
          launches.before_weight_grad());
      set(PassKind::weight_grad, kernels.weight_grad, launches.weight_grad);
      set(PassKind::backward, std::max(copy, kernels.backward()), launches.backward());
    }
  }
  return times;
}

// By how much the passes of each stage are longer than their kernels, because of the host.
void set_times(const PassesOfStages& times, StageCosts& costs) {
  costs.times = times.all;
  if (times.all.of_stage == times.kernels.of_stage) return;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    for (std::size_t stage = 0; stage < times.all.of_stage[kind].size(); ++stage)
      costs.host_waits[kind].push_back(times.all.of_stage[kind][stage] -
                                       times.kernels.of_stage[kind][stage]);
}

// Some processors run kernels of collectives, so that waves of tiles are smaller, and no tile is
// slower. What moves bytes alone is as fast. By the model's kernels, also where times were
// measured: how many times as long passes take on GPUs that have `left` of their processors.
StageCosts::ByKindAndStage slowdown_on(
    const ModelJob& job, const DeviceSettings& settings, const Routes& routes, std::uint32_t slices,
    const std::vector<StageParts>& stages, const PassesOfStages& times,
    const std::function<std::uint32_t(const config::Gpu&)>& left) {
  std::vector<config::Gpu> smaller;
  for (const config::Gpu& gpu : job.gpus)
    smaller.push_back(config::with_processors(gpu, left(gpu)));
  const auto kernels_on = [&](const std::vector<config::Gpu>& gpus) {
    return pass_times(job, settings, routes, slices, stages,
                      stage_sums(settings, gpus, std::nullopt))
        .kernels;
  };
  const schedules::PassTimes plain = job.measured ? kernels_on(job.gpus) : times.kernels;
  const schedules::PassTimes slow = kernels_on(smaller);
  StageCosts::ByKindAndStage slowdown;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      const double seconds = plain.of_stage[kind][stage];
      slowdown[kind].push_back(seconds > 0 ? slow.of_stage[kind][stage] / seconds : 1);
    }
  return slowdown;
}

// Kernels of NCCL take processors from those of passes, and so do those that send tokens.
void set_overlaps(const ModelJob& job, const DeviceSettings& settings, const Routes& routes,
                  std::uint32_t slices, const std::vector<StageParts>& stages,
                  const PassesOfStages& times, StageCosts& costs) {
  if (job.communication.overlap_slowdown) return;
  costs.overlap_slowdown =
      slowdown_on(job, settings, routes, slices, stages, times, [&](const config::Gpu& gpu) {
        return processors_beside_collectives(gpu, job.communication);
      });
  const config::ExpertTraining& experts = job.training.experts;
  const bool has_own_kernels = experts.dispatcher == config::Dispatcher::deepep ||
                               experts.dispatcher == config::Dispatcher::hybridep;
  if (settings.any().sizes.ep == 1 || !has_own_kernels) return;
  costs.dispatch_slowdown =
      slowdown_on(job, settings, routes, slices, stages, times, [&](const config::Gpu& gpu) {
        return std::max(1U, gpu.processors - std::min(gpu.processors, dispatch_sms(experts)));
      });
}

// With room for experts that get many tokens.
Activations activations_of(const ModelSetting& of_mean, const StageParts& stage,
                           std::uint32_t slices) {
  ModelSetting setting = of_mean;
  setting.sizes.imbalance = setting.sizes.peak_imbalance;
  ActivationBytes sum;
  const auto add = [&](const ActivationBytes& bytes) {
    sum.held += bytes.held;
    sum.for_w += bytes.for_w;
    sum.working = std::max(sum.working, bytes.working);
  };
  const LayerRange& layers = stage.layers;
  for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
    add(layer_bytes(setting, layers, layer));
  const bool cut = setting.sizes.cuts_vocabulary;
  if (stage.embedding && !(cut && stage.receives)) add(embedding_bytes(setting));
  for (std::uint32_t module = 0; module < stage.mtp; ++module) add(mtp_bytes(setting));
  // Parts of a cut one hold a microbatch's from one pass to the next: see add_vocabulary_buffers().
  const std::uint32_t heads = stage.head && !cut ? 1 + setting.model.mtp_layers : 0;
  for (std::uint32_t run = 0; run < heads; ++run) add(head_bytes(setting));
  if (!setting.training.deallocate_outputs && (stage.sends || !stage.head))
    sum.held += 2 * setting.sizes.spread_tokens * setting.model.hidden;
  sum.held -= offloaded(setting, stage).bytes;
  Activations result;
  result.held = whole(sum.held / slices);
  result.released_by_input_grad = whole((sum.held - sum.for_w) / slices);
  result.made_by_input_grad = whole((sum.for_w - sum.held) / slices);
  result.working = whole(sum.working / slices);
  if (heads > 0) {
    result.logits = whole(heads * logits_bytes(setting) / slices);
    result.made_by_input_grad += whole(heads * logits_grad_bytes(setting) / slices);
  }
  return result;
}

void divide(StageTraffic& traffic, std::uint32_t slices) {
  for (std::vector<Call>& calls : traffic.inside)
    for (Call& call : calls) {
      call.bytes = (call.bytes + slices - 1) / slices;
      call.overlappable_compute /= slices;
    }
}

// Gradients of as many layers as weights are gathered of.
std::uint64_t unsharded_layers(std::uint64_t gathered, const ModelJob& job) {
  return whole(static_cast<double>(gathered) / config::gathered_bytes(job.training) *
               job.communication.gradient_bytes);
}

// What the parameters take on each device.
void set_state(const ModelJob& job, const DeviceSettings& settings, const Routes& routes,
               std::uint32_t slices, const std::vector<Parameters>& parameters, StageCosts& costs) {
  const auto devices = static_cast<std::uint32_t>(job.gpus.size());
  const config::Communication& talk = job.communication;
  std::vector<Parameters> of_device(devices);
  std::vector<std::uint64_t> unsharded(devices);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage)) {
      of_device[device] += parameters[stage];
      unsharded[device] = std::max(
          unsharded[device], reduced_by_layer(job.parallel, job.communication)
                                 ? unsharded_layers(costs.gathered[stage], job)
                                 : unsharded_gradient_bytes(parameters[stage], talk,
                                                            zero_groups(job.parallel, device)));
    }
  for (std::uint32_t device = 0; device < devices; ++device) {
    const ZeroGroups zero = zero_groups(job.parallel, device);
    DeviceState state = state_of(of_device[device], job.training, zero);
    state.buffers =
        buffer_bytes(settings[device], devices, slices) + workspace_bytes + unsharded[device];
    state.allowance = job.training.reserved;
    costs.state.push_back(state);
    costs.optimizer_seconds.push_back(optimizer_seconds(
        job.training, updated_parameters(of_device[device], zero), job.gpus[device]));
    const config::Gpu& gpu = job.gpus[device];
    costs.peak_flops += gpu.flops / devices;
    costs.precision_peak_flops += products_of(gpu, job.training.precision).flops / devices;
  }
}

// One pass of a device runs at a time.
void add_offload_buffers(const DeviceSettings& settings, const Routes& routes, std::uint32_t slices,
                         const std::vector<StageParts>& stages, StageCosts& costs) {
  std::vector<std::uint64_t> most(costs.state.size());
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage))
      most[device] = std::max(most[device],
                              whole(offloaded(settings[device], stages[stage]).buffers / slices));
  for (std::size_t device = 0; device < most.size(); ++device)
    costs.state[device].buffers += most[device];
}

// A device's part of the logits of one microbatch, and of their gradient, and the hidden states
// that it was sent in fp32, as the authors' program does.
void add_vocabulary_buffers(const ModelSetting& setting, StageCosts& costs) {
  if (!setting.sizes.cuts_vocabulary) return;
  const double hidden = 4 * setting.sizes.spread_tokens * setting.model.hidden;
  for (DeviceState& state : costs.state)
    state.buffers += whole(logits_bytes(setting) + logits_grad_bytes(setting) + hidden);
}

// Kernels of F, I and W of the layers of each stage.
void set_launches(const DeviceSettings& settings, const Routes& routes,
                  const std::vector<StageParts>& stages, StageCosts& costs) {
  const auto all_of = [](const PassKernels& kernels) -> std::uint64_t {
    return launches(kernels.forward) + launches(kernels.input_grad) + launches(kernels.weight_grad);
  };
  const config::Model& model = settings.any().model;
  const auto kinds_of = [&](const ModelSetting& setting) {
    return by_kind(model, [&](LayerKind kind) { return all_of(layer_kernels(setting, kind)); });
  };
  const ModelSetting* known = &settings.any();
  auto kinds = kinds_of(*known);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const ModelSetting& setting = settings[routes.device(stage, 0)];
    if (&setting != known) kinds = kinds_of(*(known = &setting));
    std::uint64_t& launches = costs.launches.emplace_back();
    const StageParts& parts = stages[stage];
    if (parts.mtp > 0) launches += parts.mtp * all_of(mtp_kernels(setting));
    const LayerRange& layers = parts.layers;
    for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
      launches += kinds[static_cast<std::size_t>(kind_of_layer(model, layer))];
  }
}

// Documents of a microbatch that there is something to learn from, all as long as is right of its
// tokens and of their squares.
std::pair<double, double> learned(const ModelSetting& setting) {
  if (!setting.training.lengths) return {setting.sizes.samples, setting.sizes.sequence};
  const TokenCounts mean =
      batch_of(setting.training, sequence_of(setting.model, setting.training))->real;
  return {mean.tokens / mean.document(), mean.document()};
}

// FLOP of a microbatch through the whole model, and of F through those stages.
void set_flops(const ModelSetting& setting, const std::vector<StageParts>& stages,
               StageCosts& costs) {
  const config::Model& model = setting.model;
  const auto [samples, sequence] = learned(setting);
  const AttentionPairs pairs = pairs_of(setting.training);
  const double forward = forward_flops(model, samples, sequence, pairs);
  const double head = head_flops(model, samples, sequence);
  costs.model_flops_per_microbatch = 3 * forward;
  costs.full_attention_flops_per_microbatch =
      3 * forward_flops(model, samples, sequence, AttentionPairs::full);
  const auto of_kind = [&](LayerKind kind) {
    return layer_flops(model, kind, samples, sequence, pairs);
  };
  const auto kinds = by_kind(model, of_kind);
  costs.hardware_flops_per_microbatch = 3 * forward + recomputed_flops(setting, stages);
  for (const StageParts& stage : stages) {
    double& flops = costs.forward_flops.emplace_back();
    if (stage.mtp > 0) flops += stage.mtp * mtp_flops(model, samples, sequence, pairs);
    const LayerRange& layers = stage.layers;
    for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
      flops += kinds[static_cast<std::size_t>(kind_of_layer(model, layer))];
  }
  if (setting.sizes.cuts_vocabulary)
    for (double& flops : costs.forward_flops) flops += head / static_cast<double>(stages.size());
  else
    costs.forward_flops.back() += (1 + model.mtp_layers) * head;
}

}  // namespace

std::uint32_t processors_beside_collectives(const config::Gpu& gpu,
                                            const config::Communication& communication) {
  const std::uint32_t most = gpu.processors / 2;  // of a GPU with hardly any
  return gpu.processors - communication.sms.value_or(std::min(config::default_sms, most));
}

std::vector<StageParts> model_partition(const ModelJob& job, const Routes& routes) {
  check_layout(job.model, job.training, job.parallel);
  check_gpus(job, routes);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  return partition(job, routes, stage_sums(settings, job.gpus, job.measured));
}

StageCosts model_costs(const ModelJob& job, const Routes& routes, std::uint32_t slices) {
  check_layout(job.model, job.training, job.parallel);
  check_gpus(job, routes);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  const std::vector<StageSums> seconds = stage_sums(settings, job.gpus, job.measured);
  const std::vector<StageParts> stages = partition(job, routes, seconds);
  const PassesOfStages times = pass_times(job, settings, routes, slices, stages, seconds);

  const bool copies = std::ranges::any_of(stages, &StageParts::embedding_copy);
  StageCosts costs;
  std::vector<Parameters> parameters;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const StageParts& parts = stages[stage];
    const std::uint32_t device = routes.device(stage, 0);
    const ModelSetting& setting = settings[device];
    costs.activations.push_back(activations_of(setting, parts, slices));
    costs.input_bytes.push_back(whole(2 * setting.sizes.spread_tokens * job.model.hidden / slices));
    parameters.push_back(stage_parameters(setting, parts));
    const config::Gpu& gpu = job.gpus[device];
    StageTraffic traffic =
        job.measured ? unmeasured_calls(setting, parts, gpu, job.communication, *job.measured)
                     : stage_calls(setting, parts, gpu, job.communication);
    divide(traffic, slices);
    traffic.parameters = parameters.back().dense;
    traffic.expert_parameters = parameters.back().experts;
    costs.gathered.push_back(gathered_bytes(setting, parts, zero_groups(job.parallel, device)));
    if (copies && (parts.embedding || parts.embedding_copy))
      traffic.embedding_parameters = embedding_parameters(setting.model, setting.sizes);
    costs.traffic.push_back(std::move(traffic));
  }
  const ModelSetting& setting = settings.any();
  set_state(job, settings, routes, slices, parameters, costs);
  add_offload_buffers(settings, routes, slices, stages, costs);
  add_vocabulary_buffers(setting, costs);
  set_flops(setting, stages, costs);
  set_times(times, costs);
  set_launches(settings, routes, stages, costs);
  set_shares(settings, job.gpus, routes, stages, costs);
  set_overlaps(job, settings, routes, slices, stages, times, costs);
  if (job.training.lengths || job.training.experts.power_law)
    costs.launch_seconds = times.launches.of_stage;
  costs.gathered_element = config::gathered_bytes(job.training);
  const double parts = cuts_boundary(job.parallel, job.communication) ? job.parallel.tp.value : 1;
  costs.boundary_bytes = whole(2 * setting.sizes.tokens * job.model.hidden / parts / slices);
  return costs;
}

}  // namespace pipewright::workload
