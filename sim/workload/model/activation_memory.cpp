#include "sim/workload/model/activation_memory.hpp"

#include <algorithm>

// 16 bits an element, masks 1 byte.
namespace pipewright::workload {
namespace {

double hidden_bytes(const ModelSetting& setting, double bytes) {
  return bytes * setting.sizes.spread_tokens * setting.model.hidden;
}

double mask_bytes(const ModelSetting& setting, double masks) {
  return setting.model.dropout > 0 ? hidden_bytes(setting, masks) : 0;
}

// Scores after softmax; with dropout its mask, and scores after it.
double score_bytes(const ModelSetting& setting, const Attention& attention) {
  if (setting.training.flash_attention) return 0;
  return attention.scores() * (setting.model.dropout > 0 ? 5 : 2);
}

// Sums of rows, which flash attention keeps to make the scores again, in fp32.
double row_sum_bytes(const ModelSetting& setting, const Attention& attention) {
  return setting.training.flash_attention ? 4 * attention.tokens() * attention.heads : 0;
}

double attention_tensors(const Attention& a) {
  return 2 * (a.query_size() + a.key_size() + a.value_size() + a.result_size());
}

// What experts get and give, and the probabilities of each token's experts in fp32.
double routing_bytes(const ModelSetting& setting, const Layer& layer) {
  if (layer.router.empty()) return 0;
  const double probabilities =
      4 * layer.router.front().tokens * static_cast<double>(layer.router.front().outputs);
  return 2 * (layer.routing.sent + layer.routing.received) * setting.model.hidden + probabilities;
}

// Without recomputation. Both norms' inputs and outputs, in all four hidden tensors, two masks.
double whole_bytes(const ModelSetting& setting, const Layer& layer) {
  return hidden_bytes(setting, 8) + mask_bytes(setting, 2) + attention_tensors(layer.attention) +
         2 * layer.compressed + score_bytes(setting, layer.attention) +
         row_sum_bytes(setting, layer.attention) + 2 * layer.activations() +
         routing_bytes(setting, layer);
}

double weight_grad_bytes(const ModelSetting& setting, const Layer& layer) {
  const double cut = setting.sizes.sequence_parallel ? 1.0 / setting.sizes.tp : 1;
  double bytes = 0;
  for (const Linear& linear : linears_of(layer)) {
    const double tokens = linear.tokens * linear.count;
    bytes += 2 * tokens *
             (static_cast<double>(linear.inputs) * (linear.gathers_input ? cut : 1) +
              static_cast<double>(linear.outputs) * (linear.scatters_output ? cut : 1));
  }
  return bytes;
}

// The gradients alive at once in the larger half of a layer: of scores in three states, or of Q,
// K, V and the result; of what goes into the activation function and comes out.
double gradient_bytes(const ModelSetting& setting, const Layer& layer) {
  const double scores = setting.training.flash_attention ? 0 : 6 * layer.attention.scores();
  const double attention = scores + attention_tensors(layer.attention);
  const double mlp = 2 * layer.activations();
  return std::max(attention, mlp) + hidden_bytes(setting, 4);
}

// Of one GPU; the vocabulary is padded so that tp divides it.
double logits_on_gpu(const ModelSetting& setting) {
  const auto vocabulary = setting.sizes.vocabulary / setting.sizes.tp;
  return setting.sizes.tokens * static_cast<double>(vocabulary);
}

}  // namespace

ActivationBytes layer_bytes(const ModelSetting& setting, LayerKind kind) {
  const Layer layer = layer_on_gpu(setting.model, kind, setting.sizes);
  const double whole = whole_bytes(setting, layer);
  const double scores = score_bytes(setting, layer.attention);
  ActivationBytes bytes{.held = whole,
                        .for_w = weight_grad_bytes(setting, layer),
                        .working = gradient_bytes(setting, layer)};
  switch (setting.training.recompute) {
    case config::Recompute::none:
      break;
    case config::Recompute::selective:
      bytes.held -= scores;
      bytes.working += scores;
      break;
    case config::Recompute::full:
      bytes.held = hidden_bytes(setting, 2);
      bytes.working += whole - bytes.held;
      break;
  }
  return bytes;
}

ActivationBytes embedding_bytes(const ModelSetting& setting) {
  return {.held = mask_bytes(setting, 1)};
}

ActivationBytes head_bytes(const ModelSetting& setting) {
  // The loss turns bf16 logits into their gradient in place; fp32 ones have it beside them.
  return {.held = hidden_bytes(setting, 4),
          .for_w = hidden_bytes(setting, 2),
          .working = setting.training.fused_loss ? 0 : logits_grad_bytes(setting)};
}

double logits_bytes(const ModelSetting& setting) {
  return (setting.training.fused_loss ? 2 : 4) * logits_on_gpu(setting);
}

double logits_grad_bytes(const ModelSetting& setting) { return 2 * logits_on_gpu(setting); }

double score_buffer_bytes(const ModelSetting& setting) {
  if (setting.training.flash_attention) return 0;
  return 2 * layer_on_gpu(setting.model, LayerKind::dense, setting.sizes).attention.scores();
}

double ring_buffer_bytes(const ModelSetting& setting) {
  if (setting.sizes.cp == 1) return 0;
  const Attention attention =
      layer_on_gpu(setting.model, LayerKind::dense, setting.sizes).attention;
  constexpr double blocks = 2 * 2;
  return 2 * blocks * (attention.key_size() + attention.value_size());
}

}  // namespace pipewright::workload
