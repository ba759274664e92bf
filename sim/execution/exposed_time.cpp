#include "sim/execution/exposed_time.hpp"

#include <algorithm>

#include "sim/execution/collectives/collective_times.hpp"

namespace pipewright::execution {

void add_exposed_time(cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs) {
  if (!job.ranks || costs.traffic.empty()) return;
  const RankPlacement placement(cluster, job.hosts);
  CollectiveTimes times(cluster, *job.ranks, placement, job.conditions.communication.all_reduce);
  add_exposed_time(job, costs, [&](const workload::Call& call, std::uint32_t device) {
    return times.seconds(call, device);
  });
}

namespace {

// A collective of `seconds` beside as much compute as can hide it, which takes `slowdown` times as
// long while both run.
struct Hidden {
  double waits = 0;   // by how much both together are longer than the compute
  double beside = 0;  // seconds of the compute that the collective slows down
};

Hidden hidden(double seconds, double compute, double slowdown) {
  return {.waits = std::max(seconds - compute, compute > 0 ? seconds * (1 - 1 / slowdown) : 0),
          .beside = std::min(compute, seconds / slowdown)};
}

}  // namespace

void add_exposed_time(const Job& job, workload::StageCosts& costs, const CallSeconds& seconds) {
  if (!job.ranks || costs.traffic.empty()) return;
  const config::Communication& communication = job.conditions.communication;
  const double slowdown = communication.overlap_slowdown;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    auto& of_stage = costs.times.of_stage[kind];
    if (of_stage.empty()) continue;
    auto& waits = costs.exposed[kind];
    waits.assign(of_stage.size(), 0);
    auto& beside = costs.overlapped[kind];
    beside.assign(slowdown == 1 ? 0 : of_stage.size(), 0);
    for (std::uint32_t stage = 0; stage < of_stage.size(); ++stage) {
      const std::uint32_t device = job.schedule.routes.device(stage, 0);
      for (const workload::Call& call : costs.traffic[stage].inside[kind]) {
        const Hidden once =
            hidden(seconds(call, device), call.overlappable_compute / call.times, slowdown);
        waits[stage] += call.times * once.waits;
        if (slowdown != 1) beside[stage] += call.times * once.beside;
      }
      if (communication.detail == config::Detail::fast) of_stage[stage] += waits[stage];
    }
  }
}

}  // namespace pipewright::execution
