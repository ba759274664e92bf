#pragma once

#include <cstdint>

#include "sim/config/model.hpp"
#include "sim/config/training.hpp"
#include "sim/workload/shape/shape.hpp"

// FLOP of a whole model as MFU counts them: of matrix products alone, each token through top_k
// experts and the shared ones, no router, nothing padded and nothing computed again (Megatron-LM,
// num_floating_point_operations of megatron/training/training.py).
namespace pipewright::workload {

// The pairs of a query and a key whose score counts. Megatron-LM of today and most papers count
// those that a causal mask leaves; Megatron-LM until 2025 and Narayanan et al. 2021 (arXiv
// 2104.04473, equation 3) all of them.
enum class AttentionPairs : std::uint8_t { causal, full };

AttentionPairs pairs_of(const config::Training& training);

// How many of a sequence count: s^2, or the half of it, as Megatron-LM takes s (s + 1) / 2.
double attention_pairs(double sequence, AttentionPairs pairs);
// Of a layer, or the mean of layers of which some have a sliding window: with one of w keys and a
// causal mask w s - w^2 / 2, or w^2 / 2 of each chunk of w where it is chunked.
double attention_pairs(const Attention& attention, double sequence, AttentionPairs pairs);
// Of the mean of a model's layers with attention.
double attention_pairs(const config::Model& model, double sequence, AttentionPairs pairs);
// Of the last of so many ranks that have equal parts of a sequence in order, times their number:
// all of it with one, and with a causal mask up to twice as many.
double last_rank_pairs(const Attention& attention, double sequence, AttentionPairs pairs,
                       std::uint32_t ranks);
// The keys that a query sees at the most, likewise.
double attention_keys(const Attention& attention, double sequence);

// How many of a model's layers are of the kind.
std::uint32_t layers_of(const config::Model& model, LayerKind kind);

// Of one forward pass of `samples` samples. A third of F, I and W together.
double forward_flops(const config::Model& model, double samples, double sequence,
                     AttentionPairs pairs = AttentionPairs::causal);
// Of its parts: a layer; all layers' attention scores, which selective recomputation makes again;
// and the output matrix, which full recomputation does not.
double layer_flops(const config::Model& model, LayerKind kind, double samples, double sequence,
                   AttentionPairs pairs = AttentionPairs::causal);
double score_flops(const config::Model& model, double samples, double sequence,
                   AttentionPairs pairs = AttentionPairs::causal);
// Of a module of multi-token prediction, projection and layer; the head runs once more for each.
double mtp_flops(const config::Model& model, double samples, double sequence,
                 AttentionPairs pairs = AttentionPairs::causal);
double head_flops(const config::Model& model, double samples, double sequence);

}  // namespace pipewright::workload
