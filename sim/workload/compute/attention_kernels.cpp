#include <algorithm>
#include <cmath>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

// Adds the casts of attention in FP8 (fp8_dpa of Transformer Engine's recipes): of queries, keys
// and values in the forward pass, and of the gradient of the result in the backward pass. Results
// and their gradients leave the kernels in 16 bits.
void add_attention_casts(const Attention& a, config::DataType type, PassKernels& kernels) {
  const double bytes = 2 + attention_copies(type) * config::element_bytes(type);
  const auto add = [&](Kernels& pass, double elements) {
    add_memory(pass, Part::core_attention, "cast", bytes * elements);
    pass.back().type = type;
  };
  add(kernels.forward, a.query_size() + a.key_size() + a.value_size());
  add(kernels.input_grad, a.result_size());
}

// Returns the fused kernels of attention in order of preference. Sparse attention has one even
// where the stack runs no other: the fastest of the GPU, which no preference means.
std::span<const config::AttentionKernel> fused_kernels(const ModelSetting& setting) {
  if (!setting.training.flash_attention) return {};
  return setting.training.stack.attention;
}

PassKernels fused_attention(const ModelSetting& setting, Attention a) {
  // Attention with sinks may compute all pairs, also those that the mask and windows exclude.
  const bool is_masked =
      !setting.model.attention_sinks || setting.training.stack.sinks_skip_masked || a.sparse;
  if (!is_masked) a.windowed_share = 0;
  // Ring attention runs one kernel per block of keys (arXiv 2310.01889). If keys are gathered
  // instead and the rank holds an early and a late part of the sequence, each part has its own
  // kernel.
  using config::ContextComm;
  const Sizes& sizes = setting.sizes;
  const bool gathers = sizes.cp > 1 && (sizes.cp_comm == ContextComm::all_gather || a.sparse);
  const bool balanced = sizes.cp_balance == config::ContextBalance::head_tail;
  const std::uint32_t steps = gathers ? (balanced ? 2 : 1) : sizes.cp_ring();
  const double blocks = gathers ? 1 : sizes.cp_ring();
  // Ranks whose queries see fewer keys, because of a causal mask, wait for the last rank. All ranks
  // have equal work if the sequence is balanced or if every document fits into the part of one
  // rank.
  const bool is_balanced = balanced || a.keys * sizes.cp_ring() <= sizes.sequence;
  const double pairs =
      last_rank_pairs(a, a.keys, is_masked ? pairs_of(setting.training) : AttentionPairs::full,
                      is_balanced ? 1 : sizes.cp_ring());
  const double pair_share = pairs / (a.keys * a.keys);
  const config::DataType type = type_of(setting, Part::core_attention);
  Kernel forward{.name = "attention",
                 .times = steps,
                 .part = Part::core_attention,
                 .work = Work::attention,
                 .type = type,
                 .flops = a.flops() * pair_share / steps,
                 // A kernel that fetches the keys of a query has equal work for all queries, and
                 // its rate depends on their number alone.
                 .keys = (a.sparse ? a.keys : attention_keys(a, a.keys)) / blocks,
                 .head = (a.key_dim + a.value_dim) / 2.0,
                 .is_uneven = a.key_dim != a.value_dim && !a.sparse,
                 .attention = fused_kernels(setting)};
  Kernel backward = forward;
  // The backward pass has five matrix products instead of two, since it recomputes the scores.
  backward.flops *= 2.5;
  backward.backward = true;
  PassKernels kernels;
  if (config::is_scaled(type)) add_attention_casts(a, type, kernels);
  kernels.forward.push_back(forward);
  kernels.input_grad.push_back(backward);
  return kernels;
}

// Returns whether each head's matrices of queries, keys, values and scores begin at a multiple of
// 16 bytes (docs.nvidia.com/deeplearning/performance, "Matrix Multiplication Background"). The
// lengths of documents are means, whose batches are padded to such multiples.
bool is_aligned(const ModelSetting& setting, const Attention& a) {
  const std::uint32_t elements = config::has_32_bits(setting.training.precision) ? 4 : 8;
  return a.key_dim % elements == 0 && a.value_dim % elements == 0 &&
         (setting.training.lengths || std::fmod(a.keys, elements) == 0);
}

// Adds the mask and the softmax of the scores, and their backward pass. Megatron-LM's kernel does
// both in 16 bits. In 32 bits PyTorch masks the scores, with a byte for each, and then computes the
// softmax; the backward pass masks the gradient (FusedScaleMaskSoftmax, forward_torch_softmax, in
// megatron/core/fusions/fused_softmax.py). Without fusion, as in Hugging Face's modeling_opt.py, a
// mask is added, torch.max limits the sums, and the softmax casts to fp32 and back. The backward
// pass of torch.max compares twice, halves, selects and masks.
void add_softmax(const ModelSetting& setting, double scores, PassKernels& kernels) {
  const auto add = [&](Kernels& pass, std::string_view name, double bytes) {
    add_memory(pass, Part::core_attention, name, bytes * scores);
  };
  const bool is_wide = config::has_32_bits(setting.training.precision);
  const double value = config::value_bytes(setting.training.precision);
  const bool is_fused = setting.training.stack.fuses(config::Fusable::softmax);
  if (is_fused && !is_wide) {
    add(kernels.forward, "softmax", 2 * value);
    add(kernels.input_grad, "softmax", 3 * value);
    return;
  }
  const double cast = is_wide ? 0 : 2 + 4;
  add(kernels.forward, "mask", 2 * value + (is_fused ? 1 : 0));
  if (!is_fused) add(kernels.forward, "limit", 2 * value);
  add(kernels.forward, "softmax", value + 4);
  add(kernels.forward, "cast", cast);
  add(kernels.input_grad, "cast", cast);
  add(kernels.input_grad, "softmax", 4 + 4 + value);
  if (is_fused) {
    add(kernels.input_grad, "mask", 2 * value + 1);
  } else {
    for (const double bytes : {value + 1, value + 1, 2 * value, 3 * value + 1, 2 * value + 1})
      add(kernels.input_grad, "limit", bytes);
  }
}

}  // namespace

PassKernels attention_kernels(const ModelSetting& setting, const Attention& a) {
  if (setting.training.flash_attention || a.sparse) return fused_attention(setting, a);
  const double scores = a.scores();
  const bool dropout = setting.model.dropout > 0;
  const double value = config::value_bytes(setting.training.precision);
  const double dropout_bytes = dropout ? (2 * value + 1) * scores : 0;
  Kernel kernel{.name = "scores",
                .part = Part::core_attention,
                .work = Work::scores,
                .type = type_of(setting, Part::core_attention),
                .rows = a.queries,
                .count = a.samples * a.heads,
                .aligned = is_aligned(setting, a),
                .bytes = value * (scores + a.query_size() + a.result_size())};
  const auto to_scores = [&](double inner) {  // Q K' and the gradient of P
    kernel.columns = a.keys;
    kernel.inner = inner;
    kernel.flops = 2 * scores * inner;
    return kernel;
  };
  const auto from_scores = [&](double columns) {  // P V and the gradients of Q, K, V
    kernel.columns = columns;
    kernel.inner = a.keys;
    kernel.flops = 2 * scores * columns;
    return kernel;
  };
  PassKernels kernels;
  kernels.forward = {to_scores(a.key_dim)};
  kernels.input_grad = {to_scores(a.value_dim), from_scores(a.value_dim), from_scores(a.key_dim),
                        from_scores(a.key_dim)};
  add_softmax(setting, scores, kernels);
  add_memory(kernels.forward, Part::core_attention, "dropout", dropout_bytes);
  kernels.forward.push_back(from_scores(a.value_dim));
  add_memory(kernels.input_grad, Part::core_attention, "dropout", dropout_bytes);
  return kernels;
}

double learned_pairs(const ModelSetting& setting, const Layer& layer) {
  using Loss = config::Model::Indexer::Loss;
  const Indexing& indexing = layer.indexing;
  if (indexing.heads == 0 || setting.model.indexer->loss == Loss::none ||
      is_frozen(setting.training, Part::indexer))
    return 0;
  const double pairs = index_pairs(indexing, pairs_of(setting.training));
  return setting.model.indexer->loss == Loss::all ? pairs
                                                  : std::min(pairs, indexing.chosen_pairs());
}

namespace {

// Adds the loss of an indexer, the divergence of its scores from those of attention, whose kernels
// compute the gradient of the scores, too (_compute_sparse_indexer_loss_and_grads in
// megatron/core/transformer/experimental_attention_variant/dsa_cudnn_kernels.py). The products of
// queries and keys of attention and of the indexer run once more for these pairs.
void add_index_loss(const ModelSetting& setting, const Layer& layer, Kernels& forward) {
  const double pairs = learned_pairs(setting, layer);
  if (pairs == 0) return;
  const Attention& a = layer.attention;
  const Indexing& indexing = layer.indexing;
  const auto add = [&](std::string_view name, double flops, std::uint32_t head, bool backward) {
    forward.push_back({.name = name,
                       .part = Part::index_scores,
                       .work = Work::attention,
                       .type = type_of(setting, Part::index_scores),
                       .flops = pairs * flops,
                       .keys = a.keys,
                       .head = static_cast<double>(head),
                       .backward = backward,
                       .attention = fused_kernels(setting)});
  };
  add("target", 2.0 * a.heads * a.key_dim, a.key_dim, false);
  if (setting.sizes.tp > 1)
    forward.push_back({.name = "all-reduce", .part = Part::index_scores, .work = Work::collective});
  // Bytes per fp32 score: logarithm of its softmax and its exponential, target over its sum, and
  // the divergence of both.
  for (const double bytes : {8, 8, 8, 12})
    add_memory(forward, Part::index_scores, "loss", bytes * pairs);
  add("gradient", 6.0 * indexing.heads * indexing.head_dim, indexing.head_dim, true);
}

}  // namespace

PassKernels index_kernels(const ModelSetting& setting, const Layer& layer) {
  const Indexing& indexing = layer.indexing;
  PassKernels kernels;
  if (indexing.heads == 0) return kernels;
  const double scores = index_pairs(indexing, pairs_of(setting.training));
  const double value = config::value_bytes(setting.training.precision);
  kernels.forward.push_back(
      {.name = "scores",
       .part = Part::index_scores,
       .work = Work::product,
       .type = type_of(setting, Part::index_scores),
       .rows = indexing.queries,
       .columns = scores / (indexing.samples * indexing.queries),
       .inner = static_cast<double>(indexing.head_dim),
       .count = indexing.samples * indexing.heads,
       .flops = 2 * scores * indexing.heads * indexing.head_dim,
       .bytes = value * (indexing.query_size() + indexing.key_size()) + 4 * scores});
  // A radix selection reads the fp32 scores twice and writes an index of each chosen key.
  if (indexing.chooses())
    add_memory(kernels.forward, Part::index_scores, "top-k",
               8 * scores + 4 * indexing.chosen_pairs());
  add_index_loss(setting, layer, kernels.forward);
  return kernels;
}

}  // namespace pipewright::workload
