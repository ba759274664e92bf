#include <cmath>

#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

PassKernels fused_attention(const ModelSetting& setting, Attention a) {
  // Attention with sinks may compute all pairs, also those that the mask and windows exclude.
  const bool is_masked = !setting.model.attention_sinks || setting.training.stack.sinks_skip_masked;
  if (!is_masked) a.windowed_share = 0;
  // Ring attention runs one kernel per block of keys (arXiv 2310.01889). If keys are gathered
  // instead and the rank holds an early and a late part of the sequence, each part has its own
  // kernel.
  using config::ContextComm;
  const Sizes& sizes = setting.sizes;
  const bool gathers = sizes.cp > 1 && sizes.cp_comm == ContextComm::all_gather;
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
  Kernel forward{.name = "attention",
                 .times = steps,
                 .part = Part::core_attention,
                 .work = Work::attention,
                 .flops = a.flops() * pair_share / steps,
                 .keys = attention_keys(a, a.keys) / blocks,
                 .head = (a.key_dim + a.value_dim) / 2.0,
                 .attention = setting.training.stack.attention};
  Kernel backward = forward;
  // The backward pass has five matrix products instead of two, since it recomputes the scores.
  backward.flops *= 2.5;
  backward.backward = true;
  return {.forward = {forward}, .input_grad = {backward}};
}

// Returns whether each head's matrices of queries, keys, values and scores begin at a multiple of
// 16 bytes (docs.nvidia.com/deeplearning/performance, "Matrix Multiplication Background"). The
// lengths of documents are means, whose batches are padded to such multiples.
bool is_aligned(const ModelSetting& setting, const Attention& a) {
  constexpr std::uint32_t elements = 8;  // of 2 bytes
  return a.key_dim % elements == 0 && a.value_dim % elements == 0 &&
         (setting.training.lengths || std::fmod(a.keys, elements) == 0);
}

}  // namespace

PassKernels attention_kernels(const ModelSetting& setting, const Attention& a) {
  if (setting.training.flash_attention) return fused_attention(setting, a);
  const double scores = a.scores();
  const bool dropout = setting.model.dropout > 0;
  Kernel kernel{.name = "scores",
                .part = Part::core_attention,
                .work = Work::scores,
                .rows = a.queries,
                .count = a.samples * a.heads,
                .aligned = is_aligned(setting, a),
                .bytes = 2 * scores + 2 * (a.query_size() + a.result_size())};
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
  add_memory(kernels.forward, Part::core_attention, "softmax", 4 * scores);
  add_memory(kernels.forward, Part::core_attention, "dropout", (dropout ? 5 : 0) * scores);
  kernels.forward.push_back(from_scores(a.value_dim));
  kernels.input_grad = {to_scores(a.value_dim), from_scores(a.value_dim), from_scores(a.key_dim),
                        from_scores(a.key_dim)};
  add_memory(kernels.input_grad, Part::core_attention, "softmax", 6 * scores);
  add_memory(kernels.input_grad, Part::core_attention, "dropout", (dropout ? 5 : 0) * scores);
  return kernels;
}

}  // namespace pipewright::workload
