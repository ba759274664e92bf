#pragma once

#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Times the collectives inside passes, each once, with all groups of the job at once on the
// cluster, and adds what compute does not hide of them to the times of `costs`, which are those of
// the job. Runs the engine.
void add_pass_waits(cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs);

}  // namespace pipewright::execution
