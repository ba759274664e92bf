#pragma once

#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::tests {

// Returns the cluster that tests/data/clusters/bench.xml describes. All test cases of a process
// share it, because SimGrid loads one platform per process.
const cluster::Cluster& bench_cluster();

// Returns a network with this latency and unlimited bandwidth.
cluster::Cluster ideal_network(double latency);

// Returns costs of a schedule with these pass times, no transfers and no memory.
workload::StageCosts costs_of(const schedules::Schedule& schedule, schedules::PassTimes times);

trace::Trace run(const execution::Job& job, execution::EngineKind engine);

}  // namespace pipewright::tests
