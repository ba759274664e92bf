#include "sim/workload/model/state.hpp"

#include <cmath>

#include "sim/workload/model/activation_memory.hpp"

namespace pipewright::workload {

Parameters stage_parameters(const Setting& setting, const StageParts& stage) {
  Parameters parameters;
  for (std::uint32_t index = 0; index < stage.layers.count; ++index)
    parameters += layer_parameters(
        setting.model, kind_of_layer(setting.model, stage.layers.first + index), setting.sizes);
  if (stage.embedding)
    parameters.dense += embedding_parameters(setting.model, setting.sizes) +
                        position_parameters(setting.model, setting.sizes);
  if (stage.head) parameters.dense += head_parameters(setting.model, setting.sizes);
  if (stage.embedding_copy) parameters.dense += embedding_parameters(setting.model, setting.sizes);
  return parameters;
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

std::uint64_t buffer_bytes(const Setting& setting, std::uint32_t devices) {
  double bytes = score_buffer_bytes(setting);
  if (devices > 1) bytes += 2 * 2 * setting.sizes.spread_tokens * setting.model.hidden;
  if (setting.sizes.sequence_parallel) bytes += 2 * setting.sizes.tokens * setting.model.hidden;
  return static_cast<std::uint64_t>(std::llround(bytes));
}

}  // namespace pipewright::workload
