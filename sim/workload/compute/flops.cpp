#include "sim/workload/compute/flops.hpp"

#include <algorithm>

namespace pipewright::workload {
namespace {

// The layers of a model that have a sliding window, as a part of all.
double windowed(const config::Model& model) {
  if (model.sliding_window == 0) return 0;
  return model.full_attention_every == 0 ? 1 : 1 - 1.0 / model.full_attention_every;
}

// Of one layer: two products, Q K' and that of the scores with V.
double scores_of(const config::Model& model, const Layer& layer, double sequence,
                 AttentionPairs pairs) {
  const Attention& a = layer.attention;
  return 2 * a.samples * a.heads * attention_pairs(model, sequence, pairs) *
         (a.key_dim + a.value_dim);
}

Layer uncut_layer(const config::Model& model, LayerKind kind, double samples, double sequence) {
  config::Model balanced = model;
  if (balanced.experts) balanced.experts->capacity_factor = 1;
  return layer_on_gpu(balanced, kind, uncut_sizes(model, samples, sequence));
}

}  // namespace

AttentionPairs pairs_of(const config::Training& training) {
  return training.causal ? AttentionPairs::causal : AttentionPairs::full;
}

double attention_pairs(double sequence, AttentionPairs pairs) {
  return sequence * sequence * (pairs == AttentionPairs::causal ? 0.5 : 1);
}

double attention_pairs(const config::Model& model, double sequence, AttentionPairs pairs) {
  const double all = attention_pairs(sequence, pairs);
  const double window = std::min<double>(model.sliding_window, sequence);
  const double seen =
      pairs == AttentionPairs::causal ? window * sequence - window * window / 2 : window * sequence;
  const double part = windowed(model);
  return (1 - part) * all + part * seen;
}

double attention_keys(const config::Model& model, double sequence) {
  const double part = windowed(model);
  return (1 - part) * sequence + part * std::min<double>(model.sliding_window, sequence);
}

std::uint32_t layers_of(const config::Model& model, LayerKind kind) {
  std::uint32_t count = 0;
  for (std::uint32_t layer = 0; layer < model.layers; ++layer)
    if (kind_of_layer(model, layer) == kind) ++count;
  return count;
}

double head_flops(const config::Model& model, double samples, double sequence) {
  return 2 * samples * sequence * model.hidden * model.vocabulary;
}

double layer_flops(const config::Model& model, LayerKind kind, double samples, double sequence,
                   AttentionPairs pairs) {
  const Layer layer = uncut_layer(model, kind, samples, sequence);
  double flops = scores_of(model, layer, sequence, pairs);
  for (const auto* linears : {&layer.attention_linears, &layer.mlp_linears, &layer.expert_linears})
    for (const Linear& linear : *linears) flops += linear.flops();
  return flops;
}

double mtp_flops(const config::Model& model, double samples, double sequence,
                 AttentionPairs pairs) {
  return layer_flops(model, kind_of_mtp(model), samples, sequence, pairs) +
         mtp_projection(model, uncut_sizes(model, samples, sequence)).flops();
}

double score_flops(const config::Model& model, double samples, double sequence,
                   AttentionPairs pairs) {
  const Layer layer = uncut_layer(model, LayerKind::dense, samples, sequence);
  return (model.layers + model.mtp_layers) * scores_of(model, layer, sequence, pairs);
}

double forward_flops(const config::Model& model, double samples, double sequence,
                     AttentionPairs pairs) {
  double flops = head_flops(model, samples, sequence);
  for (const LayerKind kind : {LayerKind::dense, LayerKind::experts})
    if (const std::uint32_t count = layers_of(model, kind); count > 0)
      flops += count * layer_flops(model, kind, samples, sequence, pairs);
  if (model.mtp_layers > 0)
    flops += model.mtp_layers *
             (mtp_flops(model, samples, sequence, pairs) + head_flops(model, samples, sequence));
  return flops;
}

}  // namespace pipewright::workload
