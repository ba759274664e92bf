#include "sim/workload/model/model_costs.hpp"

#include <algorithm>
#include <utility>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/compute/encoder_work.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/calls.hpp"
#include "sim/workload/model/device_state.hpp"
#include "sim/workload/model/measured.hpp"
#include "sim/workload/model/shares.hpp"
#include "sim/workload/model/stage_activations.hpp"
#include "sim/workload/model/stage_partition.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/model/stage_times.hpp"
#include "sim/workload/shape/encoder.hpp"
#include "sim/workload/shape/layout_checks.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using schedules::Routes;

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

StageCosts model_costs(const ModelJob& job, const Routes& routes, std::uint32_t slices) {
  check_layout(job.model, job.training, job.parallel);
  check_gpus(job, routes);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  const std::vector<StageSums> seconds = stage_sums(settings, job.gpus, job.measured);
  const std::vector<StageParts> stages = model_partition(job, routes, seconds);
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
