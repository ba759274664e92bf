#pragma once

#include <cstdint>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What a device that computes nothing waits for.
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

// A piece of time in which a device computes nothing, for one reason. An optimizer's step is no
// idle time.
struct Idle {
  std::uint32_t device = 0;
  IdleCause cause = IdleCause::other;
  double start = 0;
  double end = 0;
  std::uint32_t stage = 0;       // of the cause
  std::uint32_t microbatch = 0;  // likewise, where it has one

  bool operator==(const Idle&) const = default;
};

// All of them, device by device in order of time. Together with passes and optimizer's steps they
// cover each device from 0 to the makespan.
std::vector<Idle> idle_times(const trace::Trace& trace);

class TraceIndex;
// Of a trace that has an index already.
std::vector<Idle> idle_times(const trace::Trace& trace, const TraceIndex& index);

}  // namespace pipewright::analysis
