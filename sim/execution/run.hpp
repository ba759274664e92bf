#pragma once

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Runs a job and reports every row to the sink, between begin() and finish(). `info` is what the
// caller knows of the run; what the job knows (sizes, schedule, engine) is filled in here.
// Throws schedules::Deadlock if the devices wait for each other for ever.
void run(const Job& job, EngineKind engine, trace::RunInfo info, trace::Sink& sink);

// The engines, which report passes, transfers, memory and what comes between passes, of the first
// replica. `simulate` has an actor for each device of each simulated replica and flows over the
// links of the cluster; `time` goes without SimGrid, as if nothing contended, and throws
// schedules::Error for what then has no exact time.
void simulate(const Job& job, trace::Sink& sink);
void time(const Job& job, trace::Sink& sink);

// For who has each simulation in a child process of its own: children need not do again what was
// done before them. The first loads SimGrid, the second also makes the cluster's hosts and links.
void load_simulator();
void get_ready(const cluster::Cluster& cluster);

}  // namespace pipewright::execution
