#pragma once

#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::tests {

// Returns the platform of tests/data/clusters/bench.xml. All cases of a process share it, because
// SimGrid loads one platform per process.
const cluster::Cluster& bench_cluster();

// Returns an ideal network.
cluster::Cluster ideal_network(double latency);

// Returns costs with these pass times and without bytes.
workload::StageCosts costs_of(const schedules::Schedule& schedule, schedules::PassTimes times);

trace::Trace run(const execution::Job& job, execution::EngineKind engine);

}  // namespace pipewright::tests
