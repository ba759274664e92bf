#pragma once

#include <cstdint>

#include "sim/config/model.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/shape/shape.hpp"

// Counts the FLOP of a whole model as MFU does: only matrix products, with each token in top_k
// experts and the shared ones, without the router, padding and recomputation (Megatron-LM,
// num_floating_point_operations in megatron/training/training.py).
namespace pipewright::workload {

// The pairs of a query and a key whose attention scores count as FLOP. Current Megatron-LM and most
// papers count only the pairs that a causal mask leaves. Megatron-LM until 2025 and Narayanan et
// al. 2021 (arXiv 2104.04473, equation 3) count all pairs.
enum class AttentionPairs : std::uint8_t { causal, full };

AttentionPairs pairs_of(const config::Training& training);

// Returns the number of pairs of a query and a key in a sequence of s tokens: s^2, or s^2 / 2 with
// a causal mask, where Megatron-LM has s (s + 1) / 2.
double attention_pairs(double sequence, AttentionPairs pairs);
// Returns the number of pairs in a layer, averaged over the layers with and without a sliding
// window. A causal window of w keys leaves w s - w^2 / 2 pairs, a chunked one w^2 / 2 per chunk,
// and w keys that an indexer chooses as many as a window. Compressed keys add their pairs.
double attention_pairs(const Attention& attention, double sequence, AttentionPairs pairs);
// Returns the number of pairs of a query and a key whose scores an indexer computes. It computes
// those of all compressed keys, which a mask then excludes.
double index_pairs(const Indexing& indexing, AttentionPairs pairs);
// Returns the mean number of pairs over those layers of a model that have attention.
double attention_pairs(const config::Model& model, double sequence, AttentionPairs pairs);
// Returns the number of pairs of the last rank if `ranks` ranks hold equal parts of a sequence in
// order, times `ranks`. This equals the number of all pairs for one rank, and is up to twice as
// large with a causal mask.
double last_rank_pairs(const Attention& attention, double sequence, AttentionPairs pairs,
                       std::uint32_t ranks);
// Returns the largest number of keys that a query sees, averaged over the layers with and without a
// sliding window.
double attention_keys(const Attention& attention, double sequence);

// Returns the number of the model's layers that are of this kind.
std::uint32_t layers_of(const config::Model& model, LayerKind kind);

// Returns the FLOP of one forward pass over `samples` samples: a third of those of the forward and
// the whole backward pass together.
double forward_flops(const config::Model& model, double samples, double sequence,
                     AttentionPairs pairs = AttentionPairs::causal);
// Returns the FLOP of the forward and the whole backward pass: three times those of a forward pass
// less the products for gradients of frozen weights, and with the products of adapters.
double training_flops(const config::Model& model, const config::Training& training, double samples,
                      double sequence, AttentionPairs pairs = AttentionPairs::causal);
// Returns the FLOP of one layer of this kind in the forward pass.
double layer_flops(const config::Model& model, LayerKind kind, double samples, double sequence,
                   AttentionPairs pairs = AttentionPairs::causal);
// Returns the FLOP of the attention products of all layers in a forward pass, which selective
// recomputation repeats.
double score_flops(const config::Model& model, double samples, double sequence,
                   AttentionPairs pairs = AttentionPairs::causal);
// Returns the FLOP of a multi-token prediction module in a forward pass: its projection and its
// layer, but not the head, which runs once more for each module.
double mtp_flops(const config::Model& model, double samples, double sequence,
                 AttentionPairs pairs = AttentionPairs::causal);
// Returns the FLOP of the output matrix in a forward pass. Full recomputation does not repeat it.
double head_flops(const config::Model& model, double samples, double sequence);

}  // namespace pipewright::workload
