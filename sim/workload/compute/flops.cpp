#include "sim/workload/compute/flops.hpp"

#include <algorithm>
#include <cmath>

#include "sim/workload/shape/fine_tuning.hpp"

namespace pipewright::workload {
namespace {

// Returns the FLOP of a layer's two attention products: Q K', and the scores times V.
double layer_score_flops(const Layer& layer, double sequence, AttentionPairs pairs) {
  const Attention& a = layer.attention;
  return 2 * a.samples * a.heads * attention_pairs(a, sequence, pairs) * (a.key_dim + a.value_dim);
}

// Returns the FLOP of an indexer's scores.
double index_score_flops(const Layer& layer, AttentionPairs pairs) {
  const Indexing& indexing = layer.indexing;
  return 2 * index_pairs(indexing, pairs) * indexing.heads * indexing.head_dim;
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

namespace {

// Returns the pairs of a query and a compressed key. An indexer's choice has as many keys for each
// query, whereas a causal mask leaves those of whole groups of tokens up to the query's own.
double pooled_pairs(const Attention& attention, double sequence, AttentionPairs pairs) {
  if (attention.pooling == 0) return 0;
  const double keys = std::floor(sequence / attention.pooling);
  if (attention.chosen > 0) return sequence * std::min(attention.chosen, keys);
  if (pairs == AttentionPairs::full) return sequence * keys;
  return attention.pooling * keys * (keys - 1) / 2 + keys;
}

}  // namespace

double index_pairs(const Indexing& indexing, AttentionPairs pairs) {
  const bool is_halved = pairs == AttentionPairs::causal && indexing.pooling == 1;
  return indexing.samples * indexing.queries * indexing.keys * (is_halved ? 0.5 : 1);
}

double attention_pairs(const Attention& attention, double sequence, AttentionPairs pairs) {
  const double unwindowed = attention_pairs(sequence, pairs);
  const double share = attention.windowed_share;
  if (share == 0) return unwindowed;
  const double window = std::min(attention.window, sequence);
  const double sliding =
      pairs == AttentionPairs::causal ? window * sequence - window * window / 2 : window * sequence;
  const double windowed = attention.chunked ? chunked_pairs(window, sequence, pairs) : sliding;
  return (1 - share) * unwindowed + share * windowed + pooled_pairs(attention, sequence, pairs);
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
  const bool sees_more = attention.pooling > 0 && attention.chosen == 0;
  const double pooled = sees_more ? causal_pairs(sequence) / attention.pooling
                                  : pooled_pairs(attention, sequence, pairs);
  return (1 - share) * causal_pairs(sequence) + share * windowed + pooled;
}

double attention_keys(const Attention& attention, double sequence) {
  const double share = attention.windowed_share;
  const double pooled = attention.pooling > 0 ? std::floor(sequence / attention.pooling) : 0;
  return (1 - share) * sequence + share * std::min(attention.window, sequence) +
         (attention.chosen > 0 ? std::min(attention.chosen, pooled) : pooled);
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
  double flops = layer_score_flops(layer, sequence, pairs) + index_score_flops(layer, pairs) +
                 layer.recurrence.elements(layer.recurrence.flops);
  for (const auto* linears : {&layer.attention_linears, &layer.mlp_linears, &layer.latent_linears,
                              &layer.expert_linears, &layer.stream_linears})
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
    const Layer layer = uncut_layer(model, kind, samples, sequence);
    return layer_score_flops(layer, sequence, pairs) + index_score_flops(layer, pairs);
  };
  double flops = model.mtp_layers > 0 ? model.mtp_layers * kind_flops(kind_of_mtp(model)) : 0;
  for (const LayerKind kind : kinds_of(model)) flops += layers_of(model, kind) * kind_flops(kind);
  return flops;
}

namespace {

// Returns by how many FLOP the training of a layer differs from three times its forward pass: less
// the gradients of frozen weights, and with three products for each matrix of an adapter.
double layer_difference(const ModelSetting& whole, LayerKind kind) {
  const Layer layer = layer_on_gpu(whole.model, kind, whole.sizes);
  double difference = 0;
  for (const Linear& linear : linears_of(layer)) {
    if (is_frozen(whole.training, linear.part) && linear.part != Part::router)
      difference -= linear.flops();
    for (const Adapter& adapter : adapters_of(whole, linear))
      difference += 3 * (adapter.a.flops() + adapter.b.flops());
  }
  return difference;
}

}  // namespace

double training_flops(const config::Model& model, const config::Training& training, double samples,
                      double sequence, AttentionPairs pairs) {
  double flops = 3 * forward_flops(model, samples, sequence, pairs);
  if (training.trains_all()) return flops;
  config::Model balanced = model;
  if (balanced.experts) balanced.experts->capacity_factor = 1;
  const ModelSetting whole{balanced, training, uncut_sizes(balanced, samples, sequence)};
  for (const LayerKind kind : kinds_of(model))
    flops += layers_of(model, kind) * layer_difference(whole, kind);
  // Layers without a backward pass take their forward pass alone.
  const std::uint32_t untrained = layers_below_training(whole);
  for (std::uint32_t layer = 0; layer < untrained; ++layer) {
    const LayerKind kind = kind_of_layer(model, layer);
    flops -= 2 * layer_flops(model, kind, samples, sequence, pairs) + layer_difference(whole, kind);
  }
  const double heads = (1 + model.mtp_layers) * head_flops(model, samples, sequence);
  const bool trains_head_alone = untrained == model.layers && !trains_mtp(whole);
  if (has_frozen_head(whole)) flops -= heads;
  if (trains_head_alone && training.freezes(config::WeightGroup::norms)) flops -= heads;
  if (model.mtp_layers == 0) return flops;
  if (trains_head_alone)
    return flops - 2 * model.mtp_layers * mtp_flops(model, samples, sequence, pairs);
  double module = layer_difference(whole, kind_of_mtp(model));
  if (is_frozen(training, Part::mtp_projection))
    module -= mtp_projection(balanced, whole.sizes).flops();
  return flops + model.mtp_layers * module;
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
