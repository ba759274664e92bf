#pragma once

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Replicas that a simulation ran: one of each kind, in place of all replicas of its kind.
struct Reduction {
  // Replicas of a kind are at the same place of their schedule at all times, so that the result is
  // that of all replicas, but for rounding. Or they have the links of their messages in common, but
  // not those of their collectives; or these links, but not their work.
  enum class Likeness : std::uint8_t { place, messages, messages_but_not_work };
  std::uint32_t replicas = 1;   // of the job
  std::uint32_t simulated = 1;  // number of kinds
  Likeness likeness = Likeness::place;
};

// Simulates a job and reports every trace row to the sink, from begin() to finish(). The caller
// sets the fields of `info` that the job does not determine; sizes, schedule and engine are filled
// in here. Throws schedules::Deadlock if the devices wait for each other forever.
Reduction run(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink);

// The two simulation engines. Both report passes, transfers, memory and the work between passes,
// for the first replica. simulate() runs an actor for each device of each simulated replica, and
// flows over the links of the cluster. time() does without SimGrid, as if nothing contended for
// links, and throws schedules::Error for jobs whose times would not be exact then.
Reduction simulate(const Job& job, trace::Sink& sink);
void time(const Job& job, trace::Sink& sink);

// Preparations for programs that run each simulation in a child process: children inherit what the
// parent has done. load_simulator() loads SimGrid; get_ready() also creates the cluster's hosts and
// links.
void load_simulator();
void get_ready(const cluster::Cluster& cluster);

}  // namespace pipewright::execution
