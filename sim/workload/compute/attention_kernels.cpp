#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

PassKernels fused_attention(const ModelSetting& setting, const Attention& a) {
  // Ring attention does its blocks of keys one after the other (arXiv 2310.01889). Where keys are
  // gathered, the two parts of the sequence that a rank has, an early and a late one, are apart.
  using config::ContextComm;
  const Sizes& sizes = setting.sizes;
  const bool gathers = sizes.cp > 1 && sizes.cp_comm == ContextComm::all_gather;
  const bool balanced = sizes.cp_balance == config::ContextBalance::head_tail;
  const std::uint32_t steps = gathers ? (balanced ? 2 : 1) : sizes.cp_ring();
  const double blocks = gathers ? 1 : sizes.cp_ring();
  // Who has less to see waits for the last rank. Documents within its part are as long as others'.
  const bool alike = balanced || a.keys * sizes.cp_ring() <= sizes.sequence;
  const double pairs =
      last_rank_pairs(a, a.keys, pairs_of(setting.training), alike ? 1 : sizes.cp_ring());
  const double seen = pairs / (a.keys * a.keys);
  Kernel forward{.name = "attention",
                 .times = steps,
                 .part = Part::core_attention,
                 .work = Work::attention,
                 .flops = a.flops() * seen / steps,
                 .keys = attention_keys(a, a.keys) / blocks,
                 .head = (a.key_dim + a.value_dim) / 2.0};
  Kernel backward = forward;
  // Five products where the forward has two: it makes the scores again.
  backward.flops *= 2.5;
  backward.backward = true;
  return {.forward = {forward}, .input_grad = {backward}};
}

}  // namespace

PassKernels attention_kernels(const ModelSetting& setting, const Attention& a) {
  if (setting.training.flash_attention) return fused_attention(setting, a);
  const double scores = a.scores();
  const bool dropout = setting.model.dropout > 0;
  Kernel one{.name = "scores",
             .part = Part::core_attention,
             .work = Work::scores,
             .rows = a.queries,
             .count = a.samples * a.heads,
             .bytes = 2 * scores + 2 * (a.query_size() + a.result_size())};
  const auto to_scores = [&](double inner) {  // Q K' and the gradient of P
    one.columns = a.keys;
    one.inner = inner;
    one.flops = 2 * scores * inner;
    return one;
  };
  const auto from_scores = [&](double columns) {  // P V and the gradients of Q, K, V
    one.columns = columns;
    one.inner = a.keys;
    one.flops = 2 * scores * columns;
    return one;
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
