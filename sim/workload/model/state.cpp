#include "sim/workload/model/state.hpp"

#include <cmath>

#include "sim/workload/model/activation_memory.hpp"

namespace pipewright::workload {

std::vector<Parameters> part_parameters(const Setting& setting, const StageParts& stage) {
  const config::Model& model = setting.model;
  const std::uint64_t embedding = embedding_parameters(model, setting.sizes);
  std::vector<Parameters> parts;
  if (stage.embedding)
    parts.push_back({.dense = embedding + position_parameters(model, setting.sizes)});
  for (std::uint32_t index = 0; index < stage.layers.count; ++index)
    parts.push_back(
        layer_parameters(model, kind_of_layer(model, stage.layers.first + index), setting.sizes));
  if (stage.head)
    parts.push_back(
        {.dense = head_parameters(model, setting.sizes) + (model.tied_embeddings ? embedding : 0)});
  return parts;
}

Parameters stage_parameters(const Setting& setting, const StageParts& stage) {
  Parameters sum;
  for (const Parameters& part : part_parameters(setting, stage)) sum += part;
  if (stage.head && setting.model.tied_embeddings && !stage.embedding_copy)
    sum.dense -= embedding_parameters(setting.model, setting.sizes);
  return sum;
}

ZeroGroups zero_groups(const config::Parallel& parallel) {
  const double ranks = static_cast<double>(parallel.dp.value) * parallel.cp.value;
  return {.level = parallel.zero, .dense = ranks, .experts = ranks / parallel.ep.value};
}

DeviceState state_of(const Parameters& parameters, const config::ParameterBytes& bytes,
                     const ZeroGroups& zero) {
  const auto dense = static_cast<double>(parameters.dense);
  const auto experts = static_cast<double>(parameters.experts);
  const auto part = [&](double each, std::uint32_t from_level) {
    const bool cut = zero.level >= from_level;
    const double kept = cut ? dense / zero.dense + experts / zero.experts : dense + experts;
    return static_cast<std::uint64_t>(std::llround(kept * each));
  };
  DeviceState state;
  state.optimizer = part(bytes.optimizer, 1);
  state.gradients = part(bytes.gradients, 2);
  state.weights = part(bytes.weights, 3);
  return state;
}

double updated_parameters(const Parameters& parameters, const ZeroGroups& zero) {
  const bool cut = zero.level >= 1;
  return static_cast<double>(parameters.dense) / (cut ? zero.dense : 1) +
         static_cast<double>(parameters.experts) / (cut ? zero.experts : 1);
}

std::uint64_t buffer_bytes(const Setting& setting, std::uint32_t devices, std::uint32_t slices) {
  double bytes = score_buffer_bytes(setting) + ring_buffer_bytes(setting);
  if (devices > 1) bytes += 2 * 2 * setting.sizes.spread_tokens * setting.model.hidden;
  if (setting.sizes.sequence_parallel) bytes += 2 * setting.sizes.tokens * setting.model.hidden;
  return static_cast<std::uint64_t>(std::llround(bytes / slices));
}

}  // namespace pipewright::workload
