#include "sim/workload/model/encoder_memory.hpp"

#include <algorithm>

#include "sim/workload/shape/fine_tuning.hpp"

namespace pipewright::workload {
namespace {

// Adds what an encoder's product saves for its weight gradient, and its gradients until then.
void add_product(const Encoder& encoder, const Linear& linear, ActivationBytes& bytes) {
  if (is_frozen(encoder.training, linear.part)) return;
  const double element = config::element_bytes(encoder.training.precision);
  const double inputs = element * linear.tokens * static_cast<double>(linear.inputs) * linear.count;
  const double outputs =
      element * linear.tokens * static_cast<double>(linear.outputs) * linear.count;
  bytes.held += inputs;
  bytes.for_w += inputs + outputs;
  bytes.working = std::max(bytes.working, inputs + outputs);
}

}  // namespace

std::vector<ActivationBytes> encoder_bytes(const Encoder& encoder) {
  std::vector<ActivationBytes> parts(encoder.shape.layers + 2);
  add_product(encoder, patch_embedding(encoder), parts.front());
  const LayerRange layers{0, encoder.trains_layers ? encoder.shape.layers : 0};
  for (std::uint32_t layer = 0; layer < layers.count; ++layer)
    parts[1 + layer] = layer_bytes(encoder.setting(), layers, layer);
  if (!encoder.has_backward()) return parts;
  // The projector's norm saves its input, and the activation function its own.
  ActivationBytes& projector = parts.back();
  const double value = config::value_bytes(encoder.training.precision);
  projector.held += value * encoder.sizes.tokens * static_cast<double>(encoder.shape.hidden);
  for (const Linear& linear : projector_linears(encoder)) {
    add_product(encoder, linear, projector);
    if (linear.part == Part::projector_out)
      projector.held += value * linear.tokens * static_cast<double>(linear.inputs) * linear.count;
  }
  return parts;
}

}  // namespace pipewright::workload
