#include "sim/workload/compute/flops.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::workload {
namespace {

// Returns the FLOP of a layer's two attention products: Q K', and the scores times V.
double layer_score_flops(const Layer& layer, double sequence, AttentionPairs pairs) {
  const Attention& a = layer.attention;
  return 2 * a.samples * a.heads * attention_pairs(a, sequence, pairs) * (a.key_dim + a.value_dim);
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

namespace {

// Returns the pairs of a query and a key if attention is limited to consecutive chunks of `window`
// tokens. The last chunk may be shorter.
double chunked_pairs(double window, double sequence, AttentionPairs pairs) {
  const double whole = std::floor(sequence / window);
  const double last = sequence - whole * window;
  return whole * attention_pairs(window, pairs) + attention_pairs(last, pairs);
}

}  // namespace

double attention_pairs(const Attention& attention, double sequence, AttentionPairs pairs) {
  const double unwindowed = attention_pairs(sequence, pairs);
  const double share = attention.windowed_share;
  if (share == 0) return unwindowed;
  const double window = std::min(attention.window, sequence);
  const double sliding =
      pairs == AttentionPairs::causal ? window * sequence - window * window / 2 : window * sequence;
  const double windowed = attention.chunked ? chunked_pairs(window, sequence, pairs) : sliding;
  return (1 - share) * unwindowed + share * windowed;
}

double attention_pairs(const config::Model& model, double sequence, AttentionPairs pairs) {
  double sum = 0;
  std::uint32_t layers = 0;
  for (const LayerKind kind : kinds_of(model)) {
    const Layer layer = uncut_layer(model, kind, 1, sequence);
    if (!layer.has_attention()) continue;
    sum += layers_of(model, kind) * attention_pairs(layer.attention, sequence, pairs);
    layers += layers_of(model, kind);
  }
  return layers > 0 ? sum / layers : attention_pairs(sequence, pairs);
}

double last_rank_pairs(const Attention& attention, double sequence, AttentionPairs pairs,
                       std::uint32_t ranks) {
  if (pairs == AttentionPairs::full || ranks == 1)
    return attention_pairs(attention, sequence, pairs);
  const double begin = sequence * (ranks - 1) / ranks;
  // Computes the pairs of the last rank's queries with a causal mask, times the number of ranks:
  // the query at position x sees x keys, or as many as its window has.
  const auto causal_pairs = [&](double window) {
    const double growing = std::max(0.0, window * window - begin * begin) / 2;
    return ranks * (growing + window * (sequence - std::max(begin, window)));
  };
  const double share = attention.windowed_share;
  const double window = std::min(attention.window, sequence);
  // Attention within chunks has equally many pairs in all ranks' parts of a sequence, if the parts
  // contain whole chunks.
  const double windowed = attention.chunked && window < sequence
                              ? chunked_pairs(window, sequence, pairs)
                              : causal_pairs(window);
  return (1 - share) * causal_pairs(sequence) + share * windowed;
}

double attention_keys(const Attention& attention, double sequence) {
  const double share = attention.windowed_share;
  return (1 - share) * sequence + share * std::min(attention.window, sequence);
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
  double flops =
      layer_score_flops(layer, sequence, pairs) + layer.recurrence.elements(layer.recurrence.flops);
  for (const auto* linears :
       {&layer.attention_linears, &layer.mlp_linears, &layer.latent_linears, &layer.expert_linears})
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
  const auto kind_flops = [&](LayerKind kind) {
    return layer_score_flops(uncut_layer(model, kind, samples, sequence), sequence, pairs);
  };
  double flops = model.mtp_layers > 0 ? model.mtp_layers * kind_flops(kind_of_mtp(model)) : 0;
  for (const LayerKind kind : kinds_of(model)) flops += layers_of(model, kind) * kind_flops(kind);
  return flops;
}

double forward_flops(const config::Model& model, double samples, double sequence,
                     AttentionPairs pairs) {
  double flops = head_flops(model, samples, sequence);
  for (const LayerKind kind : kinds_of(model))
    flops += layers_of(model, kind) * layer_flops(model, kind, samples, sequence, pairs);
  if (model.mtp_layers > 0)
    flops += model.mtp_layers *
             (mtp_flops(model, samples, sequence, pairs) + head_flops(model, samples, sequence));
  return flops;
}

}  // namespace pipewright::workload
