#pragma once

#include <array>

namespace pipewright::execution {

// What half of a pass keeps the two streams of its device busy with, in seconds. Tokens are sent to
// experts and back on a stream of their own; kernels, and all other collectives within the pass,
// take turns on the other.
struct StreamWork {
  double compute = 0;   // of the stream with the kernels
  double dispatch = 0;  // of the other
  double exposed = 0;   // of the dispatch: what no compute of the same pass hides
  double apart = 0;     // of the compute: weight gradients that no dispatch waits for

  double alone() const { return compute + exposed; }
};

// All layers' attention, with the tokens that come back from experts; all layers' experts, with
// those that go there.
using StreamHalves = std::array<StreamWork, 2>;

// What a fused pair takes: a forward pass beside a backward pass of another microbatch, as in
// DualPipe (DeepSeek-V3, arXiv 2412.19437, figure 4) and with Megatron-Core's
// overlap_moe_expert_parallel_comm (arXiv 2603.07685). Layer by layer, both passes' attention runs
// while both combine tokens, then both passes' experts while both dispatch some (Megatron-Core,
// schedule_layer_1f1b). Each half takes the longest of four: the compute of both passes, `slowdown`
// times as long while tokens are on their way, whose kernels take SMs; the dispatch of both; and of
// either pass its compute and its dispatch one after the other, since one waits for the other, but
// for weight gradients. Never is it longer than both passes one after the other.
double paired_seconds(const StreamWork& one, const StreamWork& other, double slowdown);
double paired_seconds(const StreamHalves& one, const StreamHalves& other, double slowdown);

}  // namespace pipewright::execution
