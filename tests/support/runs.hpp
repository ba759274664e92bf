#pragma once

#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::tests {

// The platform of tests/data/clusters/bench.xml, which every case of a process shares, because
// SimGrid loads one.
const cluster::Cluster& bench_cluster();

// An ideal network beside it.
cluster::Cluster ideal_network(double latency);

// Costs of a schedule with these pass times, without bytes.
workload::StageCosts costs_of(const schedules::Schedule& schedule, schedules::PassTimes times);

trace::Trace run(const execution::Job& job, execution::EngineKind engine);

}  // namespace pipewright::tests
