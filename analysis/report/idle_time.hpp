#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/trace/rows.hpp"

// Rules of metrics.md that find the cause of a device's idle time. The summary and the list of idle
// times both use them.
namespace pipewright::analysis {

enum class IdleCause : std::uint8_t {
  input,         // the pass of `stage` that produces the next input has not ended
  transfer,      // the next input is being transferred from `stage`
  rendezvous,    // the next input waits until both ends are ready
  blocked_send,  // the device's own send, of `stage`, blocks it
  weights,       // gathering of sharded weights of `stage`
  gradients,     // reduction of gradients of `stage`
  embeddings,    // reduction of tied embeddings
  norm,          // gradients of all devices, for their norm
  peers,         // ranks with which gradients or embeddings are reduced are not ready
  finished,      // the device has finished its iteration or the run
  other,         // the trace shows no cause
};
inline constexpr int idle_causes = 11;

// Idle time before a pass or a fused pair of passes, in seconds, and the inputs it waits for.
struct Gap {
  struct Input {
    double sent = 0;
    double ready = 0;  // arrival
  };
  double start = 0;             // end of the previous pass
  double released = 0;          // end of its blocking send
  double end = 0;               // start of the pass
  std::array<Input, 2> inputs;  // inputs of the pass and of its partner in the pair
  std::size_t number_inputs = 1;
};

// Calls until(cause, end, input) for the causes of a gap in order of time: the device waits for the
// cause until `end`, unless the previous cause ended later. `input` is the index of the input. The
// rest of the gap has the cause IdleCause::other.
template <class Until>
void cut_gap(const Gap& gap, const Until& until) {
  until(IdleCause::blocked_send, std::min(gap.released, gap.end), std::size_t{0});
  // The inputs of a fused pair are visited in the order of their arrival.
  const bool swapped = gap.number_inputs == 2 && gap.inputs[1].ready < gap.inputs[0].ready;
  for (std::size_t i = 0; i < gap.number_inputs; ++i) {
    const std::size_t input = swapped ? 1 - i : i;
    const double ready = std::min(gap.inputs[input].ready, gap.end);
    until(IdleCause::input, std::min(gap.inputs[input].sent, ready), input);
    until(IdleCause::transfer, ready, input);
  }
}

// A collective that an optimizer step waits for.
struct Reduction {
  double start = 0;
  double end = 0;
  std::uint32_t stage = 0;
  bool ties_embeddings = false;
};

// Calls until(cause, end, reduction) for the waits in an optimizer step, as cut_gap does; the
// reduction may be null. While no reduction runs, the device waits for another replica or for the
// other end of the pipeline.
template <class Until>
void cut_step(const trace::StepRow& step, std::vector<Reduction>& reductions, const Until& until) {
  std::ranges::stable_sort(reductions, {}, &Reduction::start);
  for (const Reduction& reduction : reductions) {
    until(IdleCause::peers, std::min(reduction.start, step.reduced), &reduction);
    until(reduction.ties_embeddings ? IdleCause::embeddings : IdleCause::gradients,
          std::min(reduction.end, step.reduced), &reduction);
  }
  const Reduction* const no_reduction = nullptr;
  until(reductions.empty() ? IdleCause::gradients : IdleCause::peers, step.reduced, no_reduction);
  until(IdleCause::norm, step.synchronized, no_reduction);
}

}  // namespace pipewright::analysis
