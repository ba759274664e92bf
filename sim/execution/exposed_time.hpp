#pragma once

#include <functional>

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Times the collectives inside passes, each once, with all groups of the job at once on the
// cluster: what compute does not hide of them, and what they slow compute beside them down, goes to
// the waits of `costs`, which are the job's, and to their times, unless these collectives are to be
// simulated in full. Runs the engine.
void add_exposed_time(cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs);

// The same with seconds of one of a call's `times` on a device that are from elsewhere.
using CallSeconds = std::function<double(const workload::Call& call, std::uint32_t device)>;
void add_exposed_time(const Job& job, workload::StageCosts& costs, const CallSeconds& seconds);

}  // namespace pipewright::execution
