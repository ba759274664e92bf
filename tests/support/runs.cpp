#include "support/runs.hpp"

#include <utility>

#include "analysis/trace/sink.hpp"
#include "support/paths.hpp"

namespace pipewright::tests {

const cluster::Cluster& bench_cluster() {
  static const cluster::Cluster loaded =
      cluster::Cluster::load(PIPEWRIGHT_TEST_DATA "/clusters/bench.xml");
  return loaded;
}

cluster::Cluster ideal_network(double latency) {
  bench_cluster();
  return cluster::Cluster::ideal(latency);
}

workload::StageCosts costs_of(const schedules::Schedule& schedule, schedules::PassTimes times) {
  workload::StageCosts costs{.times = std::move(times)};
  costs.activations.resize(schedule.stages());
  costs.state.resize(schedule.devices);
  return costs;
}

trace::Trace run(const execution::Job& job, execution::EngineKind engine) {
  trace::TraceCollector collector;
  execution::run(job, engine, {}, collector);
  return std::move(collector.trace);
}

}  // namespace pipewright::tests
