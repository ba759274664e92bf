#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/config/parallel.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::tests {

// Sizes of a job's parallelism: the number of ranks along each axis.
struct Layout {
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  std::uint32_t dp = 1;
  std::uint32_t replicate = 1;  // Copies of the shards of dp.
  std::uint32_t zero = 0;
  // If true, ranks of the replicas of a device are adjacent; otherwise those of the devices of a
  // replica (the order tp-cp-ep-pp-dp).
  bool replicas_together = false;
  bool folded = false;  // Whole experts are distributed over tp, and ep is as large as tp.
};

// A small job with several kinds of parallelism and no model. F, I and W take one second on each
// device, and all stages have the same number of parameters.
struct HybridJob {
  HybridJob(schedules::Schedule job_schedule, const Layout& layout);
  HybridJob(const HybridJob&) = delete;  // Jobs refer to it.
  HybridJob& operator=(const HybridJob&) = delete;

  config::Communication& communication() { return conditions.communication; }
  void set_parameters(std::uint64_t of_stage);
  // Makes the job an FSDP pipeline with this window on each device, unless it holds all stages.
  void limit_unsharded_stages(const schedules::UnshardWindow& window);
  // Adds a collective to every pass of this kind.
  void add_call(schedules::PassKind kind, const workload::Call& call);

  execution::Job job(const cluster::Cluster& cluster) const;
  trace::Trace run(const cluster::Cluster& cluster,
                   execution::EngineKind engine = execution::EngineKind::simgrid) const;

  schedules::Schedule schedule;
  workload::Ranks ranks;
  workload::StageCosts costs;
  workload::Conditions conditions;
  schedules::P2p p2p = schedules::P2p::eager;
  std::vector<std::string> placement;  // The first GPUs of the cluster if empty.
  std::vector<double> slowdown;
  bool symmetric = false;
};

// Makes a cluster of one node. Every ordered pair of GPUs has a link of its own with 1 GB/s and
// 0.25 ms, so flows between different pairs never contend.
cluster::Cluster mesh_cluster(std::uint32_t gpus);
inline constexpr double mesh_rate = 1e9;         // In bytes/s.
inline constexpr double mesh_latency = 0.25e-3;  // In seconds.

// Returns the bytes that each link carries in a run, by name. Call watch_links() before the cluster
// loads. SimGrid adds them up when flows on the link start or end, so they are exact unless flows
// elsewhere change rates.
void watch_links();
std::map<std::string, double> link_bytes(const HybridJob& job, const cluster::Cluster& cluster);

// Returns when the last optimizer step of a run ends.
double last_end(const trace::Trace& trace);
// Returns the collectives of this kind on a device, ordered by their end.
std::vector<trace::CollectiveRow> collectives(const trace::Trace& trace, std::uint32_t device,
                                              trace::CollectiveKind kind);
const trace::StepRow& step_of(const trace::Trace& trace, std::uint32_t device,
                              std::uint32_t iteration = 0);

}  // namespace pipewright::tests
