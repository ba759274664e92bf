#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/config/parallel.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::tests {

// How many ranks along each axis.
struct Layout {
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  std::uint32_t dp = 1;
  std::uint32_t replicate = 1;  // copies of what dp holds in shards
  std::uint32_t zero = 0;
  // False: a replica's devices are next to each other (tp-cp-ep-pp-dp), else a device's replicas.
  bool replicas_together = false;
  bool folded = false;  // experts go over tp, whole ones, and ep is as many ranks
};

// A hybrid job in small numbers of a test's own, without a model: F, I and W take a second on each
// device, and every stage has as many parameters.
struct HybridJob {
  HybridJob(schedules::Schedule given, const Layout& layout);
  HybridJob(const HybridJob&) = delete;  // jobs refer to it
  HybridJob& operator=(const HybridJob&) = delete;

  config::Communication& communication() { return conditions.communication; }
  void set_parameters(std::uint64_t of_stage);
  // The same calls in every pass of this kind.
  void add_call(schedules::PassKind kind, const workload::Call& call);

  execution::Job job(const cluster::Cluster& cluster) const;
  trace::Trace run(const cluster::Cluster& cluster,
                   execution::EngineKind engine = execution::EngineKind::simgrid) const;

  schedules::Schedule schedule;
  workload::Ranks ranks;
  workload::StageCosts costs;
  workload::Conditions conditions;
  schedules::P2p p2p = schedules::P2p::eager;
  std::vector<std::string> placement;  // empty: the cluster's first GPUs
  std::vector<double> slowdown;
  bool symmetric = false;
};

// GPUs in one node with a link of 1 GB/s and 0.25 ms of its own for every ordered pair: what no two
// flows between different pairs share.
cluster::Cluster mesh_cluster(std::uint32_t gpus);
inline constexpr double mesh_rate = 1e9;         // bytes/s
inline constexpr double mesh_latency = 0.25e-3;  // seconds

// Bytes that each link carries in a run, by its name. Call watch_links() before the cluster loads.
// SimGrid adds them up when flows on the link start or end: exact where rates do not change because
// of flows elsewhere.
void watch_links();
std::map<std::string, double> link_bytes(const HybridJob& job, const cluster::Cluster& cluster);

// The end of the last optimizer's step.
double last_end(const trace::Trace& trace);
// Rows of a kind, of one device, in the order of their ends.
std::vector<trace::CollectiveRow> collectives(const trace::Trace& trace, std::uint32_t device,
                                              trace::CollectiveKind kind);
const trace::StepRow& step_of(const trace::Trace& trace, std::uint32_t device,
                              std::uint32_t iteration = 0);

}  // namespace pipewright::tests
