#include "sim/workload/model/stage_activations.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/batch/batch.hpp"
#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/encoder_memory.hpp"
#include "sim/workload/model/model_job.hpp"
#include "sim/workload/model/offload.hpp"
#include "sim/workload/shape/encoder.hpp"

namespace pipewright::workload {
namespace {

using schedules::Routes;

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

}  // namespace

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

void add_vocabulary_buffers(const ModelSetting& setting, StageCosts& costs) {
  if (!setting.sizes.cuts_vocabulary) return;
  const double bytes =
      setting.sizes.interlaces_vocabulary ? config::value_bytes(setting.training.precision) : 4.0;
  const double hidden = bytes * setting.sizes.spread_tokens * setting.model.hidden;
  const double logits = logits_bytes(setting) + logits_grad_bytes(setting);
  for (DeviceState& state : costs.state) state.buffers += round_bytes(logits + hidden);
}

}  // namespace pipewright::workload
