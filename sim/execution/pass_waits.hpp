#pragma once

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Times the collectives inside passes, each once, with all groups of the job at once on the
// cluster: what compute does not hide of them goes to the waits of `costs`, which are the job's,
// and to their times, unless these collectives are to be simulated in full. Runs the engine.
void add_pass_waits(cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs);

}  // namespace pipewright::execution
