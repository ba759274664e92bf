#include "sim/execution/pass_waits.hpp"

#include <algorithm>

#include "sim/execution/collectives/collective_times.hpp"

namespace pipewright::execution {

void add_pass_waits(cluster::Cluster& cluster, const Job& job, workload::StageCosts& costs) {
  if (!job.ranks || costs.traffic.empty()) return;
  const Places places(cluster, job.hosts);
  CollectiveTimes times(cluster, *job.ranks, places, job.conditions.communication.all_reduce);
  add_pass_waits(job, costs, [&](const workload::Call& call, std::uint32_t device) {
    return times.seconds(call, device);
  });
}

void add_pass_waits(const Job& job, workload::StageCosts& costs, const CallSeconds& seconds) {
  if (!job.ranks || costs.traffic.empty()) return;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    auto& of_stage = costs.times.of_stage[kind];
    if (of_stage.empty()) continue;
    auto& waits = costs.waits[kind];
    waits.assign(of_stage.size(), 0);
    for (std::uint32_t stage = 0; stage < of_stage.size(); ++stage) {
      const std::uint32_t device = job.schedule.routes.device(stage, 0);
      for (const workload::Call& call : costs.traffic[stage].inside[kind])
        waits[stage] += std::max(0.0, call.times * seconds(call, device) - call.hides_under);
      if (job.conditions.communication.detail == config::Detail::fast)
        of_stage[stage] += waits[stage];
    }
  }
}

}  // namespace pipewright::execution
