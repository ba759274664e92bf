#include "sim/workload/shape/encoder.hpp"

#include <algorithm>
#include <array>

#include "sim/workload/shape/fine_tuning.hpp"

namespace pipewright::workload {
namespace {

using config::VisionPart;
using config::WeightGroup;
using Vision = config::Model::Vision;

config::Model layers_of_encoder(const Vision& vision, std::uint32_t image) {
  config::Model model;
  model.name = "encoder of images";
  model.layers = vision.layers;
  model.hidden = vision.hidden;
  model.heads = model.kv_heads = vision.heads;
  model.head_dim = vision.head_dim;
  model.ffn = vision.ffn;
  model.gated = vision.gated;
  model.norm = vision.norm;
  model.post_norms = vision.post_norms;
  model.biases = vision.biases;
  model.qk_layernorm = vision.qk_layernorm;
  model.learned_positions = !vision.rotary;  // layers do not rotate queries and keys
  model.sequence = image;
  model.sliding_window = vision.window;
  model.full_attention_every = vision.full_attention_every;
  model.chunked = vision.window > 0;  // windows of patches follow each other
  return model;
}

// Returns the groups of weights of the encoder, as a model of its own, that stay as they are. The
// projector stands in the place of its head.
config::WeightGroups frozen_groups(const config::Training& training) {
  const config::VisionParts frozen = training.frozen_vision();
  config::WeightGroups groups;
  if (frozen.test(static_cast<std::size_t>(VisionPart::encoder))) groups.set();
  groups.set(static_cast<std::size_t>(WeightGroup::head),
             frozen.test(static_cast<std::size_t>(VisionPart::projector)));
  return groups;
}

// Returns the training of the encoder: that of the language model, with the encoder's frozen
// weights and without what concerns text. Images of different sizes are not captured in CUDA
// graphs.
config::Training training_of_encoder(const config::Training& text) {
  config::Training training = text;
  training.frozen = frozen_groups(text);
  if (!text.vision->adapters) training.lora.reset();
  if (text.vision->recompute) training.recompute = *text.vision->recompute;
  training.vision.reset();
  training.lengths.reset();
  training.offload.reset();
  training.sequence.reset();
  training.cuda_graphs = {};
  training.causal = false;
  training.loss_chunks = 1;
  return training;
}

std::uint64_t norm_elements(const Encoder& encoder) {
  return (encoder.shape.norm == config::Model::Norm::layernorm ? 2ULL : 1ULL) *
         encoder.shape.hidden;
}

bool has_biases(const Encoder& encoder) {
  return encoder.shape.biases == config::Model::Biases::all;
}

// Returns the parameters of products with their biases, plus `vectors` other elements, such as
// those of norms.
Parameters parameters_of_linears(const Encoder& encoder, const std::vector<Linear>& linears,
                                 std::uint64_t vectors) {
  Parameters sum{.dense = vectors};
  for (const Linear& linear : linears) {
    sum.dense += linear.count * linear.inputs * linear.outputs +
                 (has_biases(encoder) ? linear.count * linear.outputs : 0);
    if (!is_frozen(encoder.training, linear.part)) add_matrix(linear, false, sum);
  }
  return sum;
}

}  // namespace

std::shared_ptr<const Batch> images_of(const config::VisionModule& vision,
                                       std::uint32_t microbatch_size) {
  constexpr std::uint32_t unlimited = 1U << 28U;
  return batch_of(vision.patches, unlimited, vision.images * microbatch_size);
}

Patches patches_of(const config::VisionModule& vision, std::uint32_t microbatch_size) {
  const double images = static_cast<double>(vision.images) * microbatch_size;
  if (vision.is_constant()) {
    const double image = vision.patches.documents.front();
    return {.count = images * image, .image = image};
  }
  const TokenCounts mean = images_of(vision, microbatch_size)->real;
  return {.count = mean.tokens, .image = mean.document()};
}

bool has_uneven_images(const config::Training& training) {
  return training.vision && !training.vision->is_constant();
}

std::optional<Encoder> encoder_of(const ModelSetting& setting) {
  const auto& vision = setting.training.vision;
  if (!vision || !setting.model.vision) return std::nullopt;
  const Vision& shape = *setting.model.vision;
  const Sizes& text = setting.sizes;
  const Patches patches = patches_of(*vision, setting.training.microbatch_size);
  const config::VisionParts frozen = setting.training.frozen_vision();
  Encoder encoder{
      .model = layers_of_encoder(shape, static_cast<std::uint32_t>(patches.image)),
      .training = training_of_encoder(setting.training),
      .sizes = {},
      .shape = shape,
      .text_hidden = setting.model.hidden,
      .trains_layers =
          vision->adapters || !frozen.test(static_cast<std::size_t>(VisionPart::encoder)),
      .trains_projector = !frozen.test(static_cast<std::size_t>(VisionPart::projector))};
  const double sharing = std::min(vision->parallel.cp.value, text.cp);
  const double count = patches.count / sharing;
  encoder.sizes.tp = vision->parallel.tp ? std::min(vision->parallel.tp->value, text.tp) : text.tp;
  encoder.sizes.samples = count / patches.image;
  encoder.sizes.sequence = encoder.sizes.document = encoder.sizes.queries = patches.image;
  encoder.sizes.tokens = encoder.sizes.spread_tokens = count;
  encoder.merged = count / shape.patches_per_token();
  encoder.merged_everywhere = encoder.merged * sharing;
  return encoder;
}

Linear patch_embedding(const Encoder& encoder) {
  return {.part = Part::patch_embedding,
          .tokens = encoder.sizes.tokens,
          .inputs = encoder.shape.patch_elements(),
          .outputs = encoder.shape.hidden};
}

std::vector<Linear> projector_linears(const Encoder& encoder) {
  const Vision::Projector& projector = encoder.shape.projector;
  const std::uint64_t width =
      encoder.shape.hidden * (projector.averages ? 1ULL : encoder.shape.patches_per_token());
  if (projector.ffn == 0)
    return {{.part = Part::projector_in,
             .tokens = encoder.merged,
             .inputs = width,
             .outputs = encoder.text_hidden,
             .count = projector.count}};
  const std::uint64_t ffn = projector.ffn / encoder.sizes.tp;
  return {{.part = Part::projector_in,
           .tokens = encoder.merged,
           .inputs = width,
           .outputs = ffn,
           .count = projector.count,
           .gathers_input = true},
          {.part = Part::projector_out,
           .tokens = encoder.merged,
           .inputs = ffn,
           .outputs = encoder.text_hidden,
           .count = projector.count,
           .scatters_output = true}};
}

std::vector<Parameters> encoder_parameters(const Encoder& encoder) {
  std::vector<Parameters> parts;
  const auto add = [&](WeightGroup group, Parameters parameters) {
    if (encoder.training.freezes(group)) parameters.freeze();
    parts.push_back(parameters);
  };
  add(WeightGroup::embedding,
      parameters_of_linears(encoder, {patch_embedding(encoder)},
                            std::uint64_t{encoder.shape.positions} * encoder.shape.hidden));
  const Parameters layer = layer_parameters(encoder.setting(), LayerKind::dense);
  parts.insert(parts.end(), encoder.shape.layers, layer);
  add(WeightGroup::head,
      parameters_of_linears(encoder, projector_linears(encoder),
                            encoder.shape.projector.count * norm_elements(encoder)));
  return parts;
}

std::uint64_t encoder_tensors(const Encoder& encoder) {
  std::uint64_t tensors = 0;
  const std::uint64_t of_product = has_biases(encoder) ? 2 : 1;
  const bool trains_patches = !encoder.training.freezes(WeightGroup::embedding);
  if (trains_patches) tensors += of_product + (encoder.shape.positions > 0 ? 1 : 0);
  if (encoder.trains_layers) {
    constexpr std::array<std::uint64_t, 4> biases{0, 4, 1, 2};  // in the order of Model::Biases
    tensors += encoder.shape.layers *
               (trained_tensors(encoder.setting(), LayerKind::dense) +
                (trains_patches ? biases[static_cast<std::size_t>(encoder.shape.biases)] : 0));
  }
  if (encoder.trains_projector)
    tensors += encoder.shape.projector.count * (1 + of_product * projector_linears(encoder).size());
  return tensors;
}

std::vector<Matrix> encoder_matrices(const Encoder& encoder) {
  using Cut = Matrix::Cut;
  std::vector<Matrix> matrices;
  const auto add = [&](const Linear& linear) {
    if (is_frozen(encoder.training, linear.part)) return;
    matrices.push_back({.rows = linear.outputs,
                        .columns = linear.inputs,
                        .count = linear.count,
                        .cut = linear.gathers_input     ? Cut::rows
                               : linear.scatters_output ? Cut::columns
                                                        : Cut::none,
                        .fused = {}});
  };
  add(patch_embedding(encoder));
  const std::vector<Matrix> layer = layer_matrices(encoder.setting(), LayerKind::dense);
  for (std::uint32_t index = 0; index < encoder.shape.layers; ++index)
    matrices.insert(matrices.end(), layer.begin(), layer.end());
  for (const Linear& linear : projector_linears(encoder)) add(linear);
  // Ranks of tp that all compute the same have whole matrices.
  if (encoder.sizes.tp == 1)
    for (Matrix& matrix : matrices) matrix.cut = Cut::none;
  return matrices;
}

}  // namespace pipewright::workload
