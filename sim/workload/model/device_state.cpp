#include "sim/workload/model/device_state.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/optimizer_offload.hpp"
#include "sim/workload/model/optimizer_step.hpp"
#include "sim/workload/shape/encoder.hpp"
#include "sim/workload/shape/matrices.hpp"

namespace pipewright::workload {
namespace {

using schedules::Routes;

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

// Cost of updating matrices apart from other parameters on a device, and the other parameters.
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

}  // namespace

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

}  // namespace pipewright::workload
