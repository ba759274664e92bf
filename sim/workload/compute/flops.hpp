#pragma once

#include <cstdint>

#include "sim/config/model.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/shape/shape.hpp"

// FLOP of a whole model as MFU counts them: only matrix products, with each token in top_k experts
// and the shared ones, without the router, padding and recomputation (Megatron-LM,
// num_floating_point_operations in megatron/training/training.py).
namespace pipewright::workload {

// Pairs of a query and a key whose scores count. Current Megatron-LM and most papers count the
// pairs that a causal mask leaves. Megatron-LM until 2025 and Narayanan et al. 2021 (arXiv
// 2104.04473, equation 3) count all pairs.
enum class AttentionPairs : std::uint8_t { causal, full };

AttentionPairs pairs_of(const config::Training& training);

// Number of pairs in a sequence of s tokens: s^2, or half of it with a causal mask, where
// Megatron-LM has s (s + 1) / 2.
double attention_pairs(double sequence, AttentionPairs pairs);
// Number of pairs in a layer, averaged over the layers with and without a sliding window. A causal
// window of w keys leaves w s - w^2 / 2 pairs, a chunked one w^2 / 2 per chunk.
double attention_pairs(const Attention& attention, double sequence, AttentionPairs pairs);
// Mean over the layers of a model that have attention.
double attention_pairs(const config::Model& model, double sequence, AttentionPairs pairs);
// Pairs of the last of `ranks` ranks that hold equal parts of a sequence in order, times `ranks`.
// This equals all pairs for one rank, and is up to twice as many with a causal mask.
double last_rank_pairs(const Attention& attention, double sequence, AttentionPairs pairs,
                       std::uint32_t ranks);
// Largest number of keys that a query sees, averaged over the same layers.
double attention_keys(const Attention& attention, double sequence);

// Number of the model's layers that are of this kind.
std::uint32_t layers_of(const config::Model& model, LayerKind kind);

// FLOP of one forward pass over `samples` samples, a third of F, I and W together.
double forward_flops(const config::Model& model, double samples, double sequence,
                     AttentionPairs pairs = AttentionPairs::causal);
// FLOP of one layer in the forward pass.
double layer_flops(const config::Model& model, LayerKind kind, double samples, double sequence,
                   AttentionPairs pairs = AttentionPairs::causal);
// FLOP of the attention products of all layers, which selective recomputation repeats.
double score_flops(const config::Model& model, double samples, double sequence,
                   AttentionPairs pairs = AttentionPairs::causal);
// FLOP of a multi-token prediction module: its projection and its layer. The head runs once more
// for each module.
double mtp_flops(const config::Model& model, double samples, double sequence,
                 AttentionPairs pairs = AttentionPairs::causal);
// FLOP of the output matrix, which full recomputation does not repeat.
double head_flops(const config::Model& model, double samples, double sequence);

}  // namespace pipewright::workload
