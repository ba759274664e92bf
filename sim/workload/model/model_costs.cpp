#include "sim/workload/model/model_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/by_stage.hpp"
#include "sim/workload/compute/encoder_work.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/calls.hpp"
#include "sim/workload/model/encoder_memory.hpp"
#include "sim/workload/model/measured.hpp"
#include "sim/workload/model/offload.hpp"
#include "sim/workload/model/optimizer_offload.hpp"
#include "sim/workload/model/optimizer_step.hpp"
#include "sim/workload/model/shares.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/encoder.hpp"
#include "sim/workload/shape/layout_checks.hpp"
#include "sim/workload/shape/matrices.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Routes;

std::uint64_t round_bytes(double bytes) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, bytes)));
}

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

void check_gpus(const ModelJob& job, const Routes& routes) {
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage))
      if (device >= job.gpus.size())
        throw std::logic_error("model_costs: fewer GPUs than pipeline devices");
}

std::vector<StageParts> partition_stages_of(const ModelJob& job, const Routes& routes,
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

// Pass times of all stages: of the kernels alone, in total, and of the host's launches alone.
struct StagePassTimes {
  schedules::PassTimes kernels;   // kernels of the GPU
  schedules::PassTimes total;     // with the time that a GPU waits for its host
  schedules::PassTimes launches;  // launches of the host alone
};

// Seconds of the copies of a pass between a GPU and its host, in each direction, beside its
// compute: activations go down in the forward pass and up in the backward pass; shards of weights
// go up for each pass that gathers them, and gradients down after each pass that makes them.
struct HostCopies {
  double activations = 0;
  double weights = 0;
  double gradients = 0;
};

// Returns the copies of a pass of a stage. A slice of a microbatch has a fraction of the
// activations, but gathers all weights and makes all gradients.
HostCopies host_copies(const ModelJob& job, const ModelSetting& setting, const StageParts& parts,
                       std::uint32_t device, std::uint32_t slices) {
  HostCopies copies;
  const config::Gpu& gpu = job.gpus[device];
  if (const auto& offload = job.training.offload)
    copies.activations = copy_seconds(offload->bandwidth, "training.offload", gpu,
                                      offloaded(setting, parts).bytes / slices);
  if (const auto& offload = job.training.optimizer.offload) {
    const ShardCopies shards = shard_copies(job.training, stage_parameters(setting, parts),
                                            zero_groups(job.parallel, device));
    const auto seconds = [&](double bytes) {
      return copy_seconds(offload->bandwidth, "training.optimizer.offload", gpu, bytes);
    };
    copies.weights = seconds(shards.weights);
    copies.gradients = seconds(shards.gradients);
  }
  return copies;
}

// Computes the pass times of all stages. A stage with copies on several devices takes the time of
// the slowest. A slice of a microbatch has a fraction of its work, but equally many kernel
// launches.
StagePassTimes stage_pass_times(const ModelJob& job, const DeviceSettings& settings,
                                const Routes& routes, std::uint32_t slices,
                                const std::vector<StageParts>& stages,
                                const std::vector<StageSums>& seconds) {
  StagePassTimes times;
  for (auto* const pass_times : {&times.kernels, &times.total, &times.launches})
    for (auto& stage_seconds : pass_times->of_stage) stage_seconds.assign(routes.stages(), 0);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const StageParts& parts = stages[stage];
    for (const std::uint32_t device : devices_of(routes, stage)) {
      const HostCopies copies = host_copies(job, settings[device], parts, device, slices);
      const double up = copies.activations + (job.parallel.reshards() ? copies.weights : 0);
      const auto [kernels, launches] = seconds[device].seconds_of(parts.of_layers());
      const double overhead = job.training.stack.host.pass * job.gpus[device].launch_factor;
      const auto set = [&](PassKind kind, double copy, double busy, double host) {
        double& kernel_seconds = times.kernels[kind][stage];
        double& total_seconds = times.total[kind][stage];
        double& launch_seconds = times.launches[kind][stage];
        const double on_gpu = std::max(copy, busy / slices);
        kernel_seconds = std::max(kernel_seconds, overhead + on_gpu);
        launch_seconds = std::max(launch_seconds, overhead + host);
        total_seconds = std::max(total_seconds, overhead + std::max(on_gpu, host));
      };
      set(PassKind::forward, std::max(copies.activations, copies.weights), kernels.forward,
          launches.forward);
      set(PassKind::recompute, copies.weights, kernels.forward, launches.forward);
      set(PassKind::input_grad, up, kernels.before_weight_grad(), launches.before_weight_grad());
      set(PassKind::weight_grad, copies.gradients, kernels.weight_grad, launches.weight_grad);
      set(PassKind::backward, std::max(up, copies.gradients), kernels.backward(),
          launches.backward());
      if (!parts.splits_vocabulary) continue;
      // With one barrier, S computes the gradient of its input too, from the sums of its own part;
      // with two barriers, T computes it (arXiv 2411.05288, algorithms 2 and 1).
      const PartSeconds vocabulary = seconds[device].seconds_of(parts.of_vocabulary());
      const bool early = settings[device].sizes.barriers == 1;
      const auto output = [&](const PassSeconds& of_part) {
        return of_part.forward + (early ? of_part.before_weight_grad() : 0);
      };
      const auto output_grad = [&](const PassSeconds& of_part) {
        return of_part.weight_grad + (early ? 0 : of_part.before_weight_grad());
      };
      set(PassKind::output, 0, output(vocabulary.kernels), output(vocabulary.launches));
      set(PassKind::output_grad, 0, output_grad(vocabulary.kernels),
          output_grad(vocabulary.launches));
    }
  }
  return times;
}

// Sets the pass times, and by how much a pass takes longer than its kernels because the GPU waits
// for its host. S and T have no times if no stage splits the vocabulary, since they never run.
void set_times(const StagePassTimes& times, StageCosts& costs) {
  costs.times = times.total;
  for (const PassKind kind : {PassKind::output, PassKind::output_grad})
    if (std::ranges::count(costs.times[kind], 0.0) == std::ssize(costs.times[kind]))
      costs.times[kind].clear();
  if (times.total.of_stage == times.kernels.of_stage) return;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    for (std::size_t stage = 0; stage < costs.times.of_stage[kind].size(); ++stage)
      costs.host_waits[kind].push_back(times.total.of_stage[kind][stage] -
                                       times.kernels.of_stage[kind][stage]);
}

// Returns the factors by which passes take longer if only processors_left(gpu) processors of a GPU
// are left for them, since kernels of collectives occupy the others. Fewer tiles are computed at a
// time, but none is slower, and kernels that only move bytes keep their time. The factors follow
// from the modelled kernels, even if times were measured.
StageCosts::ByKindAndStage kernel_slowdown(
    const ModelJob& job, const DeviceSettings& settings, const Routes& routes, std::uint32_t slices,
    const std::vector<StageParts>& stages, const StagePassTimes& times,
    const std::function<std::uint32_t(const config::Gpu&)>& processors_left) {
  std::vector<config::Gpu> smaller;
  for (const config::Gpu& gpu : job.gpus)
    smaller.push_back(config::with_processors(gpu, processors_left(gpu)));
  const auto kernels_on = [&](const std::vector<config::Gpu>& gpus) {
    return stage_pass_times(job, settings, routes, slices, stages,
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

// Sets the factors by which passes slow down while NCCL's kernels, or kernels that send tokens to
// experts, run beside them and take processors from them.
void set_overlaps(const ModelJob& job, const DeviceSettings& settings, const Routes& routes,
                  std::uint32_t slices, const std::vector<StageParts>& stages,
                  const StagePassTimes& times, StageCosts& costs) {
  if (job.communication.overlap_slowdown) return;
  costs.overlap_slowdown =
      kernel_slowdown(job, settings, routes, slices, stages, times, [&](const config::Gpu& gpu) {
        return processors_beside_collectives(gpu, job.communication);
      });
  const config::ExpertTraining& experts = job.training.experts;
  const bool has_own_kernels = experts.dispatcher == config::Dispatcher::deepep ||
                               experts.dispatcher == config::Dispatcher::hybridep;
  if (settings.any().sizes.ep == 1 || !has_own_kernels) return;
  costs.dispatch_slowdown =
      kernel_slowdown(job, settings, routes, slices, stages, times, [&](const config::Gpu& gpu) {
        return std::max(1U, gpu.processors - std::min(gpu.processors, dispatch_sms(experts)));
      });
}

std::uint32_t count_expert_layers(const config::Model& model, const LayerRange& layers) {
  std::uint32_t count = 0;
  for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
    if (has_experts(kind_of_layer(model, layer))) ++count;
  return count;
}

// Returns the imbalance for which a stage holds activations. Draws of different layers are
// independent. The tokens of a rank in n layers therefore deviate from their mean by 1 / sqrt(n) of
// the deviation in one layer. An imbalance that the scenario gives is that of every layer.
double held_imbalance(const ModelSetting& setting, const LayerRange& layers) {
  const double peak = setting.sizes.peak_imbalance;
  if (!routing_law(setting.model, setting.training, setting.sizes)) return peak;
  const std::uint32_t count = std::max(1U, count_expert_layers(setting.model, layers));
  return 1 + (peak - 1) / std::sqrt(static_cast<double>(count));
}

// Returns the activation memory of a stage. Routed experts are assumed to get the number of tokens
// that memory must suffice for, which is above the mean if the routing is random.
Activations activations_of(const ModelSetting& mean_setting, const StageParts& stage,
                           std::uint32_t slices) {
  const LayerRange& layers = stage.layers;
  ModelSetting setting = mean_setting;
  setting.sizes.imbalance = setting.sizes.peak_imbalance;
  ModelSetting held_setting = mean_setting;
  held_setting.sizes.imbalance = held_imbalance(mean_setting, layers);
  ActivationBytes sum;
  const auto add = [&](const ActivationBytes& bytes) {
    sum.held += bytes.held;
    sum.for_w += bytes.for_w;
    sum.working = std::max(sum.working, bytes.working);
  };
  for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer) {
    ActivationBytes bytes = layer_bytes(held_setting, layers, layer);
    bytes.working = layer_bytes(setting, layers, layer).working;
    add(bytes);
  }
  const bool cut = setting.sizes.cuts_vocabulary;
  if (stage.embedding && (!cut || stage.is_first())) add(embedding_bytes(setting));
  if (const auto encoder = stage.encoder ? encoder_of(setting) : std::nullopt)
    for (const ActivationBytes& part : encoder_bytes(*encoder)) add(part);
  for (std::uint32_t module = 0; module < stage.mtp; ++module) add(mtp_bytes(setting));
  // The head is left out if the vocabulary is split over the devices: add_vocabulary_buffers()
  // counts its logits, which are then stored between passes.
  const std::uint32_t heads = stage.head && !cut ? 1 + setting.model.mtp_layers : 0;
  for (std::uint32_t run = 0; run < heads; ++run) add(head_bytes(setting));
  if (!setting.training.deallocate_outputs && (stage.sends || !stage.head))
    sum.held += config::value_bytes(setting.training.precision) * setting.sizes.spread_tokens *
                static_cast<double>(setting.model.residual_width());
  sum.held -= offloaded(held_setting, stage).bytes;
  Activations result;
  result.held = round_bytes(sum.held / slices);
  result.released_by_input_grad = round_bytes((sum.held - sum.for_w) / slices);
  result.made_by_input_grad = round_bytes((sum.for_w - sum.held) / slices);
  result.working = round_bytes(sum.working / slices);
  if (heads > 0) {
    result.logits = round_bytes(heads * logits_bytes(setting) / slices);
    result.made_by_input_grad += round_bytes(heads * logits_grad_bytes(setting) / slices);
  }
  return result;
}

// Sets the parameters of a stage that are reduced and gathered over its replicas.
void set_parameters(const ModelJob& job, const Parameters& parameters, StageTraffic& traffic) {
  const Parameters trained = parameters.trained();
  traffic.parameters = trained.dense;
  traffic.expert_parameters = trained.experts;
  traffic.other_gathered = parameters.other_types.gathered;
  traffic.expert_other_gathered = parameters.expert_other_types.gathered;
  if (job.parallel.zero < 3) return;
  traffic.frozen_bytes =
      round_bytes(gathered_bytes({.dense = parameters.frozen_dense,
                                  .vocabulary = parameters.frozen_vocabulary,
                                  .frozen_dense = parameters.frozen_dense,
                                  .frozen_vocabulary = parameters.frozen_vocabulary},
                                 job.training));
  traffic.frozen_expert_bytes = round_bytes(gathered_bytes(
      {.experts = parameters.frozen_experts, .frozen_experts = parameters.frozen_experts},
      job.training));
}

void divide_calls(StageTraffic& traffic, std::uint32_t slices) {
  for (std::vector<Call>& calls : traffic.inside)
    for (Call& call : calls) {
      call.bytes = (call.bytes + slices - 1) / slices;
      call.overlappable_compute /= slices;
    }
}

// Returns the bytes of the whole gradients of two layers of a stage, or of two weights that are
// gathered one by one: one is reduced while the next one is computed. `gathered` are the bytes of
// the gathered weights, those of one layer in use and of `ahead` layers.
std::uint64_t unsharded_layers(std::uint64_t gathered, std::uint32_t ahead, const Parameters& stage,
                               const ModelJob& job) {
  const double whole = gathered_bytes(stage, job.training);
  if (whole <= 0) return 0;
  const std::uint64_t of_shards = shard_gradient_bytes(job.parallel);
  const std::uint64_t bytes = of_shards > 0 ? of_shards : job.communication.gradient_bytes;
  const double of_two = static_cast<double>(gathered) * 2 / (1 + ahead);
  return round_bytes(of_two / whole * static_cast<double>(stage.trained().total()) *
                     static_cast<double>(bytes));
}

// Returns the number of copies that the host launches after the all-gather of updated weights: one
// for each tensor and rank, and one each to pack and to unpack the buffer of a rank.
double weight_copies(const ModelJob& job, std::uint64_t tensors, const ZeroGroups& zero) {
  const bool copies = job.communication.zero_weights == config::ZeroWeights::all_gather_copies;
  if (!copies || zero.level < 1 || zero.level > 2 || zero.dense <= 1) return 0;
  return zero.dense * static_cast<double>(tensors + 2);
}

// Returns the bytes of workspaces of matrix products. cuBLAS takes 8.1 MiB instead of 32 MiB on
// GPUs before Hopper, and Transformer Engine 4 MiB (PyTorch's CUBLAS_WORKSPACE_CONFIG,
// get_cublas_workspace_size_bytes of transformer_engine): about a fifth together.
std::uint64_t workspace_bytes(const ModelJob& job, const config::Gpu& gpu) {
  constexpr std::uint64_t part_without_fp8 = 5;
  const config::SoftwareMemory& memory = job.training.stack.memory;
  const std::uint64_t bytes = memory.workspace + (job.model.experts ? memory.expert_workspace : 0);
  return gpu.products.fp8 ? bytes : bytes / part_without_fp8;
}

// What updating matrices apart from other parameters takes on a device, and these others.
struct ApartStep {
  MatrixOptimizer matrices;
  Parameters others;
};

ApartStep apart_step(const ModelJob& job, const DeviceSettings& settings,
                     const std::vector<std::uint32_t>& stages_of_device, std::uint32_t device,
                     const std::vector<StageParts>& stages,
                     const std::vector<Parameters>& parameters) {
  using config::Optimizer;
  const Optimizer& optimizer = job.training.optimizer;
  std::vector<OptimizedStage> optimized;
  ApartStep step;
  for (const std::uint32_t stage : stages_of_device) {
    std::vector<Matrix> matrices = stage_matrices(settings[device], stages[stage]);
    if (const auto encoder = stages[stage].encoder ? encoder_of(settings[device]) : std::nullopt) {
      const std::vector<Matrix> of_encoder = encoder_matrices(*encoder);
      matrices.insert(matrices.begin(), of_encoder.begin(), of_encoder.end());
    }
    optimized.push_back({.matrices = std::move(matrices),
                         .parameters = parameters[stage].trained(),
                         .embedding = embedding_parameters(job.model, settings[device].sizes)});
    step.others += parameters[stage].trained();
  }
  step.matrices = matrix_optimizer(optimized, job.training, job.parallel, job.communication, device,
                                   job.gpus[device]);
  const bool has_vocabulary =
      optimizer.name == Optimizer::Name::adafactor ||
      (optimizer.layout == Optimizer::Layout::ping_pong && job.parallel.zero > 0 &&
       config::mode_of(optimizer, job.parallel.zero) == Optimizer::Mode::layer_wise);
  step.others.dense -= step.others.matrices + (has_vocabulary ? step.others.vocabulary : 0);
  step.others.experts -= step.others.expert_matrices;
  return step;
}

// Adds the padding of a stage's buffers of gradients and weights to its traffic and to the memory
// of its device.
void add_padding(const ModelJob& job, const ZeroGroups& zero, const StageBuffers& buffers,
                 const Parameters& parameters, StageTraffic& traffic, DeviceState& state) {
  if (buffers.buckets == 0) return;
  const Parameters trained = parameters.trained();
  traffic.parameters = trained.dense + buffers.padding;
  traffic.expert_parameters = trained.experts + buffers.expert_padding;
  traffic.buckets = buffers.buckets;
  const auto padding = static_cast<double>(buffers.padding);
  const auto expert_padding = static_cast<double>(buffers.expert_padding);
  const double held = zero.level >= 2 ? padding / zero.dense + expert_padding / zero.experts
                                      : padding + expert_padding;
  state.gradients += round_bytes(held * config::gradient_bytes(job.training));
  state.weights += round_bytes((padding + expert_padding) * config::gathered_bytes(job.training));
}

// Sets each device's memory for weights, gradients, optimizer state and buffers, and the time of
// its optimizer step.
void set_state(const ModelJob& job, const DeviceSettings& settings, const Routes& routes,
               std::uint32_t slices, const std::vector<StageParts>& stages,
               const std::vector<Parameters>& parameters, StageCosts& costs) {
  const auto devices = static_cast<std::uint32_t>(job.gpus.size());
  const config::Communication& communication = job.communication;
  std::vector<Parameters> device_parameters(devices);
  std::vector<std::uint64_t> unsharded(devices);
  std::vector<std::uint64_t> tensors(devices);
  std::vector<std::uint64_t> delayed(devices);
  std::vector<std::uint64_t> casts(devices);
  std::vector<std::uint64_t> unused(devices);
  std::vector<std::vector<std::uint32_t>> stages_of(devices);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage)) {
      device_parameters[device] += parameters[stage];
      stages_of[device].push_back(stage);
      tensors[device] += weight_tensors(settings[device], stages[stage]);
      unsharded[device] =
          std::max(unsharded[device],
                   reduced_by_layer(job.parallel, job.communication)
                       ? unsharded_layers(costs.gathered[stage], costs.gathers_ahead[stage],
                                          parameters[stage], job)
                       : unsharded_gradient_bytes(parameters[stage], communication,
                                                  zero_groups(job.parallel, device)));
      delayed[device] =
          std::max(delayed[device], delayed_bytes(settings[device], stages[stage].layers.count));
      unused[device] =
          std::max(unused[device], unused_gradient_bytes(settings[device], stages[stage]));
      casts[device] = std::max(casts[device], cast_bytes(settings[device], stages[stage],
                                                         zero_groups(job.parallel, device)));
    }
  for (std::uint32_t device = 0; device < devices; ++device) {
    ZeroGroups zero = zero_groups(job.parallel, device);
    zero.reshards_stages = !unshard_windows(job.parallel, routes).empty();
    DeviceState state = state_of(device_parameters[device], job.training, zero);
    state.buffers = buffer_bytes(settings[device], devices, slices) +
                    workspace_bytes(job, job.gpus[device]) + unsharded[device] + casts[device] +
                    unused[device];
    state.allowance = job.training.reserved + delayed[device] / slices;
    const config::Gpu& gpu = job.gpus[device];
    std::optional<ApartStep> apart;
    if (updates_matrices_apart(job.training.optimizer)) {
      apart = apart_step(job, settings, stages_of[device], device, stages, parameters);
      const MatrixOptimizer& matrices = apart->matrices;
      if (matrices.state > 0) state.optimizer = round_bytes(matrices.state);
      for (std::size_t i = 0; i < matrices.buffers.size(); ++i) {
        const std::uint32_t stage = stages_of[device][i];
        add_padding(job, zero, matrices.buffers[i], parameters[stage], costs.traffic[stage], state);
      }
      costs.step_calls.push_back(matrices.calls);
    }
    const double updated =
        updated_parameters(apart ? apart->others : device_parameters[device], zero);
    state.step = round_bytes(job.training.optimizer.fraction_on_gpu() * updated *
                             job.training.stack.memory.optimizer_working) +
                 round_bytes(apart ? apart->matrices.working : 0);
    costs.state.push_back(state);
    const config::HostTimes& host = job.training.stack.host;
    costs.optimizer_seconds.push_back(
        step_seconds(job.training, updated, tensors[device], zero, gpu,
                     updated_other_bytes(device_parameters[device], zero)) +
        (apart ? apart->matrices.seconds : 0) +
        (host.iteration + host.kernel * weight_copies(job, tensors[device], zero)) *
            gpu.launch_factor);
    costs.peak_flops += gpu.flops / devices;
    costs.precision_peak_flops += products_of(gpu, job.training.precision).flops / devices;
  }
}

// Adds the buffers for offloaded activations. A device runs one pass at a time, so the largest
// buffers of any of its stages are enough.
void add_offload_buffers(const DeviceSettings& settings, const Routes& routes, std::uint32_t slices,
                         const std::vector<StageParts>& stages, StageCosts& costs) {
  std::vector<std::uint64_t> buffers(costs.state.size());
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    for (const std::uint32_t device : devices_of(routes, stage))
      buffers[device] =
          std::max(buffers[device],
                   round_bytes(offloaded(settings[device], stages[stage]).buffers / slices));
  for (std::size_t device = 0; device < buffers.size(); ++device)
    costs.state[device].buffers += buffers[device];
}

// Adds the buffers of a vocabulary that is split over the devices: a device stores its part of a
// microbatch's logits and of their gradient, and the hidden states that it received, in fp32 unless
// the vocabulary is interlaced, as in the authors' program.
void add_vocabulary_buffers(const ModelSetting& setting, StageCosts& costs) {
  if (!setting.sizes.cuts_vocabulary) return;
  const double bytes =
      setting.sizes.interlaces_vocabulary ? config::value_bytes(setting.training.precision) : 4.0;
  const double hidden = bytes * setting.sizes.spread_tokens * setting.model.hidden;
  const double logits = logits_bytes(setting) + logits_grad_bytes(setting);
  for (DeviceState& state : costs.state) state.buffers += round_bytes(logits + hidden);
}

// Counts the kernels of F, I and W that CUDA graphs capture in each stage's layers.
void set_captured(const DeviceSettings& settings, const Routes& routes,
                  const std::vector<StageParts>& stages, StageCosts& costs) {
  const auto count_captured = [](const PassKernels& kernels) {
    double count = 0;
    for (const auto* const pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
      count += launches(*pass).captured;
    return static_cast<std::uint64_t>(count);
  };
  const auto captured_of_layers = [&](const ModelSetting& setting) {
    return LayerValues<std::uint64_t>(setting,
                                      [&](const ModelSetting& layer_setting, LayerKind kind) {
                                        return count_captured(layer_kernels(layer_setting, kind));
                                      });
  };
  const ModelSetting* cached = &settings.any();
  auto layers_captured = captured_of_layers(*cached);
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const ModelSetting& setting = settings[routes.device(stage, 0)];
    if (&setting != cached) layers_captured = captured_of_layers(*(cached = &setting));
    std::uint64_t& captured = costs.captured.emplace_back();
    const StageParts& parts = stages[stage];
    if (parts.mtp > 0) captured += parts.mtp * count_captured(mtp_kernels(setting));
    const LayerRange& layers = parts.layers;
    for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
      captured += layers_captured.of(layer);
  }
}

// Returns number and length of the documents of a mean microbatch, without padding. If documents
// differ, it is those of equally long documents with the same sums of tokens and squares.
std::pair<double, double> trained_documents(const ModelSetting& setting) {
  if (!setting.training.lengths) return {setting.sizes.samples, setting.sizes.sequence};
  const TokenCounts mean =
      batch_of(setting.training, sequence_of(setting.model, setting.training))->real;
  return {mean.tokens / mean.document(), mean.document()};
}

// Sets the FLOP of a microbatch in the whole model, and of its forward pass in each stage.
void set_flops(const ModelSetting& setting, const std::vector<StageParts>& stages,
               StageCosts& costs) {
  const config::Model& model = setting.model;
  const auto [samples, sequence] = trained_documents(setting);
  const AttentionPairs pairs = pairs_of(setting.training);
  const config::Training& training = setting.training;
  const double flops = training_flops(model, training, samples, sequence, pairs);
  const double head = head_flops(model, samples, sequence);
  const auto encoder = encoder_of({model, training, uncut_sizes(model, samples, sequence)});
  const EncoderFlops of_encoder = encoder ? encoder_flops(*encoder) : EncoderFlops{};
  costs.model_flops_per_microbatch = flops + of_encoder.training;
  costs.full_attention_flops_per_microbatch =
      training_flops(model, training, samples, sequence, AttentionPairs::full) +
      of_encoder.training;
  const auto kind_flops = [&](LayerKind kind) {
    return layer_flops(model, kind, samples, sequence, pairs);
  };
  const auto flops_by_kind = by_kind(model, kind_flops);
  costs.hardware_flops_per_microbatch =
      flops + of_encoder.training + recomputed_flops(setting, stages) + of_encoder.recomputed;
  for (const StageParts& stage : stages) {
    double& forward = costs.forward_flops.emplace_back(stage.encoder ? of_encoder.forward : 0);
    if (stage.mtp > 0) forward += stage.mtp * mtp_flops(model, samples, sequence, pairs);
    const LayerRange& layers = stage.layers;
    for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer)
      forward += flops_by_kind[static_cast<std::size_t>(kind_of_layer(model, layer))];
  }
  if (setting.sizes.cuts_vocabulary)
    for (double& forward : costs.forward_flops)
      forward += head / static_cast<double>(stages.size());
  else
    costs.forward_flops.back() += (1 + model.mtp_layers) * head;
}

}  // namespace

std::uint32_t processors_beside_collectives(const config::Gpu& gpu,
                                            const config::Communication& communication) {
  const std::uint32_t limit = gpu.processors / 2;  // for a GPU with very few processors
  return gpu.processors - communication.sms.value_or(std::min(config::default_sms, limit));
}

std::vector<StageParts> model_partition(const ModelJob& job, const Routes& routes) {
  check_layout(job.model, job.training, job.parallel);
  check_gpus(job, routes);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  return partition_stages_of(job, routes, stage_sums(settings, job.gpus, job.measured));
}

StageCosts model_costs(const ModelJob& job, const Routes& routes, std::uint32_t slices) {
  check_layout(job.model, job.training, job.parallel);
  check_gpus(job, routes);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  const std::vector<StageSums> seconds = stage_sums(settings, job.gpus, job.measured);
  const std::vector<StageParts> stages = partition_stages_of(job, routes, seconds);
  const StagePassTimes times = stage_pass_times(job, settings, routes, slices, stages, seconds);

  const bool has_copies = std::ranges::any_of(stages, &StageParts::embedding_copy);
  const double value = config::value_bytes(job.training.precision);
  StageCosts costs;
  std::vector<Parameters> parameters;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const StageParts& parts = stages[stage];
    const std::uint32_t device = routes.device(stage, 0);
    const ModelSetting& setting = settings[device];
    costs.activations.push_back(activations_of(setting, parts, slices));
    const auto width = static_cast<double>(job.model.residual_width());
    costs.input_bytes.push_back(round_bytes(value * setting.sizes.spread_tokens * width / slices));
    parameters.push_back(stage_parameters(setting, parts));
    const config::Gpu& gpu = job.gpus[device];
    StageTraffic traffic =
        job.measured ? unmeasured_calls(setting, parts, gpu, job.communication, *job.measured)
                     : stage_calls(setting, parts, gpu, job.communication);
    divide_calls(traffic, slices);
    set_parameters(job, parameters.back(), traffic);
    const GatherWindow window =
        gather_window(setting, parts, job.parallel, zero_groups(job.parallel, device));
    costs.gathered.push_back(window.bytes);
    costs.gathers_ahead.push_back(window.ahead);
    if (job.parallel.gtp) costs.gathered_matrices.push_back(window.matrices);
    if (has_copies && (parts.embedding || parts.embedding_copy) &&
        !job.training.freezes(config::WeightGroup::embedding))
      traffic.embedding_parameters = embedding_parameters(setting.model, setting.sizes);
    costs.traffic.push_back(std::move(traffic));
  }
  const ModelSetting& setting = settings.any();
  set_state(job, settings, routes, slices, stages, parameters, costs);
  add_offload_buffers(settings, routes, slices, stages, costs);
  add_vocabulary_buffers(setting, costs);
  set_flops(setting, stages, costs);
  set_times(times, costs);
  set_captured(settings, routes, stages, costs);
  set_shares(settings, job.gpus, routes, stages, costs);
  set_overlaps(job, settings, routes, slices, stages, times, costs);
  if (job.training.lengths || has_uneven_images(job.training) ||
      routing_law(setting.model, setting.training, setting.sizes))
    costs.launch_seconds = times.launches.of_stage;
  costs.gathered_element = config::gathered_bytes(job.training);
  const double parts = cuts_boundary(job.parallel, job.communication) ? job.parallel.tp.value : 1;
  costs.boundary_bytes =
      round_bytes(value * setting.sizes.tokens * static_cast<double>(job.model.residual_width()) /
                  parts / slices);
  return costs;
}

}  // namespace pipewright::workload
