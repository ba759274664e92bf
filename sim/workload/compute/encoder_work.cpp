#include "sim/workload/compute/encoder_work.hpp"

#include <iterator>
#include <utility>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/shape/fine_tuning.hpp"

namespace pipewright::workload {
namespace {

using Kernels = std::vector<Kernel>;

// Bytes that kernels read and write count 16 bits per element of a tensor.
double element_width(const Encoder& encoder) {
  return config::has_32_bits(encoder.training.precision) ? 2 : 1;
}

void append_kernels(PassKernels addition, PassKernels& kernels) {
  const auto append = [](Kernels& source, Kernels& target) {
    target.insert(target.end(), std::make_move_iterator(source.begin()),
                  std::make_move_iterator(source.end()));
  };
  append(addition.forward, kernels.forward);
  append(addition.input_grad, kernels.input_grad);
  append(addition.weight_grad, kernels.weight_grad);
}

// Returns whether training needs the gradient of a product's input. Pixels have none, and a
// projector alone needs none below its first product.
bool has_input_grad(const Encoder& encoder, Part part) {
  if (part == Part::patch_embedding) return false;
  return part == Part::projector_in ? encoder.trains_layers : encoder.has_backward();
}

// Returns the kernels of a product at an end of the encoder, with the gradients that are needed.
PassKernels end_kernels(const Encoder& encoder, const Linear& linear) {
  PassKernels kernels = linear_kernels(encoder.setting(), linear);
  if (!has_input_grad(encoder, linear.part)) kernels.input_grad.clear();
  return kernels;
}

}  // namespace

PassKernels patch_kernels(const Encoder& encoder) {
  PassKernels kernels = end_kernels(encoder, patch_embedding(encoder));
  if (encoder.shape.positions == 0) return kernels;
  const double elements =
      element_width(encoder) * encoder.sizes.tokens * static_cast<double>(encoder.shape.hidden);
  add_memory(kernels.forward, Part::patch_embedding, "positions", 6 * elements);
  if (!is_frozen(encoder.training, Part::patch_embedding))
    add_memory(kernels.weight_grad, Part::patch_embedding, "positions",
               2 * elements + 2 * config::gradient_bytes(encoder.training) *
                                  encoder.shape.positions *
                                  static_cast<double>(encoder.shape.hidden));
  return kernels;
}

PassKernels projector_kernels(const Encoder& encoder) {
  const config::Model::Vision::Projector& projector = encoder.shape.projector;
  const double width = element_width(encoder);
  const double count = projector.count;
  const double hidden = static_cast<double>(encoder.shape.hidden);
  const double normed = encoder.sizes.tokens * hidden;
  PassKernels kernels;
  if (projector.averages) {
    const double averaged = width * 2 * (normed + encoder.merged * hidden);
    add_memory(kernels.forward, Part::projector_norm, "average", averaged);
    if (encoder.trains_layers)
      add_memory(kernels.input_grad, Part::projector_norm, "average", averaged);
  }
  PassKernels norm = norm_kernels(encoder.setting(), Part::projector_norm,
                                  count * (projector.averages ? encoder.merged * hidden : normed));
  if (!encoder.has_backward()) norm.input_grad.clear();
  append_kernels(std::move(norm), kernels);
  for (const Linear& linear : projector_linears(encoder)) {
    if (linear.part == Part::projector_out) {
      const double elements =
          width * linear.tokens * static_cast<double>(linear.inputs) * linear.count;
      add_memory(kernels.forward, Part::projector_activation, "activation", 4 * elements);
      if (encoder.has_backward())
        add_memory(kernels.input_grad, Part::projector_activation, "activation", 6 * elements);
    }
    append_kernels(end_kernels(encoder, linear), kernels);
  }
  if (encoder.merged_everywhere > encoder.merged)
    kernels.forward.push_back(
        {.name = "all-gather", .part = Part::image_tokens, .work = Kernel::Work::collective});
  // The first projector's tokens are written; those of the others are added to hidden states.
  const double placed =
      width * encoder.merged * static_cast<double>(encoder.text_hidden) * (4 + 6 * (count - 1));
  add_memory(kernels.forward, Part::image_tokens, "scatter", placed);
  if (encoder.has_backward()) add_memory(kernels.input_grad, Part::image_tokens, "gather", placed);
  return kernels;
}

PartSeconds encoder_seconds(const ModelSetting& setting, const config::Gpu& gpu) {
  const std::optional<Encoder> encoder = encoder_of(setting);
  if (!encoder) return {};
  const ModelSetting own_setting = encoder->setting();
  PartSeconds sum = part_seconds(own_setting, patch_kernels(*encoder), gpu);
  sum += part_seconds(own_setting, projector_kernels(*encoder), gpu);
  PartSeconds layer = layer_seconds(own_setting, LayerKind::dense, gpu);
  if (!encoder->trains_layers)
    for (PassSeconds* const seconds : {&layer.kernels, &layer.launches})
      *seconds = {.forward = seconds->forward};
  PartSeconds stored = layer;  // of layers that are not recomputed
  stored.kernels.recomputed = stored.launches.recomputed = 0;
  for (std::uint32_t index = 0; index < encoder->shape.layers; ++index)
    sum += is_recomputed(own_setting.training.recompute, {0, encoder->shape.layers}, index)
               ? layer
               : stored;
  return sum;
}

double encoder_forward_flops(const Encoder& encoder, const Patches& patches) {
  double flops = forward_flops(encoder.model, patches.count / patches.image, patches.image,
                               AttentionPairs::full);
  const double ratio = patches.count / encoder.sizes.tokens;
  flops += ratio * patch_embedding(encoder).flops();
  for (const Linear& linear : projector_linears(encoder)) flops += ratio * linear.flops();
  return flops;
}

EncoderFlops encoder_flops(const Encoder& encoder) {
  const ModelSetting own_setting = encoder.setting();
  const Patches patches{.count = encoder.sizes.tokens, .image = encoder.sizes.document};
  EncoderFlops flops{.forward = encoder_forward_flops(encoder, patches)};
  flops.training = flops.forward;
  const double samples = encoder.sizes.samples;
  if (encoder.trains_layers)
    flops.training += training_flops(encoder.model, own_setting.training, samples, patches.image,
                                     AttentionPairs::full) -
                      forward_flops(encoder.model, samples, patches.image, AttentionPairs::full);
  std::vector<Linear> ends = projector_linears(encoder);
  ends.push_back(patch_embedding(encoder));
  for (const Linear& linear : ends)
    flops.training += linear.flops() * ((is_frozen(own_setting.training, linear.part) ? 0 : 1) +
                                        (has_input_grad(encoder, linear.part) ? 1 : 0));
  if (!encoder.trains_layers) return flops;
  double repeated = 0;
  for (const Kernel& kernel : layer_kernels(own_setting, LayerKind::dense).forward)
    repeated += kernel.times * kernel.flops * share_repeated(own_setting, kernel.part, kernel.work);
  for (std::uint32_t index = 0; index < encoder.shape.layers; ++index)
    if (is_recomputed(own_setting.training.recompute, {0, encoder.shape.layers}, index))
      flops.recomputed += repeated;
  return flops;
}

}  // namespace pipewright::workload
