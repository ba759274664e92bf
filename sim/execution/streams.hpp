#pragma once

#include <array>

namespace pipewright::execution {

// Seconds of work in half of a pass for each of the two streams of its device. Expert dispatch and
// combine run on one stream, and so do tensor-parallel collectives in braided pairs; kernels, and
// all other collectives of the pass, take turns on the other.
struct StreamWork {
  double compute = 0;   // kernels
  double dispatch = 0;  // expert dispatch or combine, or tensor-parallel collectives
  // Seconds of `dispatch` that compute of the same pass does not hide.
  double exposed = 0;
  // Seconds of compute for which `dispatch` does not wait: weight gradients.
  double apart = 0;

  double alone() const { return compute + exposed; }
};

// Work of both halves of a pass: attention of all layers with the combine of tokens, and experts of
// all layers with the dispatch of tokens.
using StreamHalves = std::array<StreamWork, 2>;

// Seconds of a fused pair: a forward pass beside a backward pass of another microbatch, as in
// DualPipe (DeepSeek-V3, arXiv 2412.19437, figure 4) and with Megatron-Core's
// overlap_moe_expert_parallel_comm (arXiv 2603.07685). Layer by layer, attention of both passes
// runs while both combine tokens, then experts of both passes run while both dispatch tokens
// (Megatron-Core, schedule_layer_1f1b). Each half takes the longest of four times: the compute of
// both passes, `slowdown` times as long while tokens are sent, because communication kernels occupy
// SMs; the dispatch of both passes; and, for each pass, its compute followed by its dispatch, which
// depend on each other except for weight gradients. A pair never takes longer than both passes one
// after the other. Braided pairs are the same with the sums of tensor parallelism in place of
// dispatch, and may also have two forward passes, or a weight-gradient pass (STP, arXiv 2510.27257,
// section 4).
double paired_seconds(const StreamWork& first, const StreamWork& second, double slowdown);
double paired_seconds(const StreamHalves& first, const StreamHalves& second, double slowdown);

}  // namespace pipewright::execution
