#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/trace/rows.hpp"

// What a device that computes nothing waits for: the rules of metrics.md, by which summaries and
// lists of idle times go alike.
namespace pipewright::analysis {

enum class IdleCause : std::uint8_t {
  input,         // a pass of `stage` that makes its next input is not done yet
  transfer,      // its next input is on its way from `stage`
  rendezvous,    // its next input waits for both ends to be ready
  blocked_send,  // its own send, of `stage`, holds it
  weights,       // sharded weights of `stage` are gathered
  gradients,     // its gradients, of `stage`, are reduced
  embeddings,    // tied embeddings likewise
  norm,          // all devices' gradients, for their norm
  peers,         // who else its gradients or embeddings are summed with is not there yet
  finished,      // nothing: its iteration, or the run, is over for it
  other,         // none of these shows in the trace
};
inline constexpr int idle_causes = 11;

// The time before a pass, or before two that run as one, in seconds.
struct Gap {
  struct Input {
    double sent = 0;
    double ready = 0;  // it has arrived
  };
  double start = 0;             // what ran before has ended
  double released = 0;          // and its blocking send
  double end = 0;               // the pass starts
  std::array<Input, 2> inputs;  // of the pass and of its partner
  std::size_t number_inputs = 1;
};

// Calls `until(cause, end, input)` for one cause after the other: the device waits for it until
// `end`, if that is later than what it waited for before. `input` is the number of one. What is
// left of the gap after them has another cause.
template <class Until>
void cut_gap(const Gap& gap, const Until& until) {
  until(IdleCause::blocked_send, std::min(gap.released, gap.end), std::size_t{0});
  // The pair waits for the one of its inputs that comes last.
  const bool swapped = gap.number_inputs == 2 && gap.inputs[1].ready < gap.inputs[0].ready;
  for (std::size_t i = 0; i < gap.number_inputs; ++i) {
    const std::size_t number = swapped ? 1 - i : i;
    const double ready = std::min(gap.inputs[number].ready, gap.end);
    until(IdleCause::input, std::min(gap.inputs[number].sent, ready), number);
    until(IdleCause::transfer, ready, number);
  }
}

// A collective that a step waits for.
struct Reduction {
  double start = 0;
  double end = 0;
  std::uint32_t stage = 0;
  bool ties_embeddings = false;
};

// Likewise what the device waits for in a step of its optimizer, with `until(cause, end,
// reduction)` where the reduction may be null. While none of the reductions runs, it waits for
// another replica or for the other end of the pipeline.
template <class Until>
void cut_step(const trace::StepRow& step, std::vector<Reduction>& reductions, const Until& until) {
  std::ranges::stable_sort(reductions, {}, &Reduction::start);
  for (const Reduction& one : reductions) {
    until(IdleCause::peers, std::min(one.start, step.reduced), &one);
    until(one.ties_embeddings ? IdleCause::embeddings : IdleCause::gradients,
          std::min(one.end, step.reduced), &one);
  }
  const Reduction* const none = nullptr;
  until(reductions.empty() ? IdleCause::gradients : IdleCause::peers, step.reduced, none);
  until(IdleCause::norm, step.synchronized, none);
}

}  // namespace pipewright::analysis
