#include "sim/workload/compute/expert_kernels.hpp"
#include "sim/workload/compute/graph_capture.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/compute/small_kernels.hpp"

// Kernels of a layer: a mixer, such as attention, and an MLP or a mixture of experts.
namespace pipewright::workload {
namespace {

// Adds the products of an indexer, whose inputs get no gradients from it: only its own loss trains
// it (DeepSeek-V3.2, arXiv 2512.02556, section 2.1.1).
void add_indexer_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  PassKernels products;
  add_linear_kernels(setting, layer.attention_linears, Part::indexer, Part::indexer, products);
  products.input_grad.clear();
  if (learned_pairs(setting, layer) == 0) products.weight_grad.clear();
  append_passes(products, kernels);
}

// Adds the kernels that make compressed keys from those of several tokens, and their gradients.
void add_compressor_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  if (layer.pooled_inputs == 0) return;
  const double width = 2 * width_of(setting);
  const double results = layer.attention.pooled() * layer.attention.key_dim;
  add_memory(kernels.forward, Part::compressor, "pool", width * (layer.pooled_inputs + results));
  add_memory(kernels.input_grad, Part::compressor, "pool",
             width * (2 * layer.pooled_inputs + results));
}

void add_attention_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  const Attention& a = layer.attention;
  add_linear_kernels(setting, layer.attention_linears, Part::qkv, Part::compressor, kernels);
  add_compressor_kernels(setting, layer, kernels);
  add_indexer_kernels(setting, layer, kernels);
  const double heads = a.query_size() + a.key_size();
  if (setting.model.qk_layernorm)
    add_small_kernels(norm_of(setting), Part::qk_norm, "norm", width_of(setting) * heads, kernels);
  // Sparse latent attention rotates only the part of its long queries and keys that has positions.
  const bool is_long = is_latent(layer.mixer) && a.sparse;
  const double rotated =
      is_long ? a.tokens() * (a.heads + 1.0) * setting.model.latent->rope_head_dim : heads;
  if (!setting.model.learned_positions) add_rotary_kernels(setting, rotated, kernels);
  append_passes(index_kernels(setting, layer), kernels);
  append_passes(attention_kernels(setting, a), kernels);
  const double gated = setting.model.output_gate ? width_of(setting) * a.result_size() : 0;
  add_memory(kernels.forward, Part::projection, "gate", 6 * gated);
  add_memory(kernels.input_grad, Part::projection, "gate", 10 * gated);
  add_linear_kernels(setting, layer.attention_linears, Part::projection, Part::projection, kernels);
}

void add_stream_inputs(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  if (!layer.stream_linears.empty())
    append_passes(stream_inputs(setting, layer.stream_linears.front()), kernels);
}

void add_mixer_kernels(const ModelSetting& setting, const Layer& layer, PassKernels& kernels) {
  add_stream_inputs(setting, layer, kernels);
  add_norm_kernels(setting, attention_norm_part(layer.mixer), kernels);
  if (layer.has_attention()) add_attention_kernels(setting, layer, kernels);
  if (layer.has_recurrence()) {
    const auto add_linear = [&](Part part) {
      add_linear_kernels(setting, layer.attention_linears, part, part, kernels);
    };
    add_linear(Part::recurrence_in);
    add_linear(Part::recurrence);
    append_passes(recurrence_kernels(setting, layer), kernels);
    add_linear(Part::recurrence_out);
  }
  if (layer.has_attention() && layer.has_recurrence())
    add_memory(kernels.forward, Part::recurrence_out, "sum",
               6 * width_of(setting) * setting.sizes.spread_tokens * setting.model.hidden);
  add_post_norm_kernels(setting, kernels);
  add_result_kernels(setting, kernels);
}

// Adds the kernels of an MLP, or of a router with its experts.
void add_feed_forward_kernels(const ModelSetting& setting, LayerKind kind, const Layer& layer,
                              PassKernels& kernels) {
  add_stream_inputs(setting, layer, kernels);
  add_norm_kernels(setting, mlp_norm_part(kind), kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::mlp_in, Part::mlp_in, kernels);
  add_activation_kernels(setting, Part::activation, layer.mlp, kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::mlp_out, Part::mlp_out, kernels);
  add_linear_kernels(setting, layer.latent_linears, Part::latent_in, Part::latent_in, kernels);
  add_linear_kernels(setting, layer.router, Part::router, Part::router, kernels);
  add_router_scores(setting, layer, kernels);
  add_permutation_kernels(setting, Part::permute, "permute", false, layer, kernels.forward);
  add_permutation_kernels(setting, Part::permute, "permute", true, layer, kernels.input_grad);
  add_expert_kernels(setting, layer, kernels);
  add_permutation_kernels(setting, Part::unpermute, "unpermute", false, layer, kernels.forward);
  add_permutation_kernels(setting, Part::unpermute, "unpermute", true, layer, kernels.input_grad);
  add_linear_kernels(setting, layer.latent_linears, Part::latent_out, Part::latent_out, kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::shared_in, Part::shared_in, kernels);
  add_activation_kernels(setting, Part::shared_activation, layer.shared, kernels);
  add_linear_kernels(setting, layer.mlp_linears, Part::shared_out, Part::shared_out, kernels);
  add_post_norm_kernels(setting, kernels);
  add_result_kernels(setting, kernels);
}

}  // namespace

Launches launches(const std::vector<Kernel>& kernels) {
  Launches count;
  for (const Kernel& kernel : kernels) count.add(kernel);
  return count;
}

PassKernels layer_kernels(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  PassKernels kernels;
  if (layer.mixer != Mixer::none) {
    add_mixer_kernels(setting, layer, kernels);
    capture_mixer(setting, layer.mixer, kernels);
  }
  if (feed_forward_of(kind) != FeedForward::none) {
    PassKernels feed_forward;
    add_feed_forward_kernels(setting, kind, layer, feed_forward);
    capture_feed_forward(setting, kind, feed_forward);
    append_passes(feed_forward, kernels);
  }
  capture_all(setting, kernels);
  if (!layer.router.empty()) add_stall(setting, kernels.forward);
  return kernels;
}

}  // namespace pipewright::workload
