#include "sim/execution/exposed_time.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "sim/cluster/network.hpp"
#include "sim/execution/flows/alone.hpp"
#include "sim/execution/flows/fold.hpp"

namespace pipewright::execution {

Hidden hidden(double seconds, double compute, double slowdown) {
  return {.waits = std::max(seconds - compute, compute > 0 ? seconds * (1 - 1 / slowdown) : 0),
          .overlap = std::min(compute, seconds / slowdown)};
}

std::vector<double> simulate_alone(const cluster::Cluster& cluster, const RankPlacement& placement,
                                   std::span<const std::vector<Phase>> plans) {
  const std::shared_ptr<cluster::Network>& network = cluster.network();
  const std::size_t ends = network == nullptr ? 0 : network->ends().size();
  const Folded folded = fold(cluster, placement, plans);
  const std::vector<double> seconds_of_plan = seconds_alone(folded.transfer_plans);
  if (network != nullptr) network->truncate_ends(ends);  // routes that folding has added
  std::vector<double> seconds;
  for (const std::uint32_t transfer_plan : folded.plan_of)
    seconds.push_back(seconds_of_plan[transfer_plan]);
  return seconds;
}

CollectiveTimes::CollectiveTimes(const cluster::Cluster& cluster, const workload::Ranks& ranks,
                                 const RankPlacement& placement, Algorithm algorithm)
    : cluster_(cluster), ranks_(ranks), placement_(placement), algorithm_(algorithm) {}

double CollectiveTimes::seconds(const workload::Call& call, std::uint32_t device) {
  const Key key{call.group, call.collective, call.bytes};
  auto it = cache_.find(key);
  if (it == cache_.end()) it = cache_.emplace(key, simulate(call)).first;
  return it->second.at(device);
}

std::vector<double> CollectiveTimes::simulate(const workload::Call& call) const {
  std::vector<double> slowest(ranks_.devices());
  if (call.bytes == 0 || ranks_.group_size(call.group) < 2) return slowest;
  std::vector<std::vector<std::uint32_t>> groups = ranks_.groups(call.group);
  std::erase_if(groups,
                [](const auto& group) { return group.size() < 2; });  // groups of other devices
  std::vector<std::vector<Phase>> plans;
  plans.reserve(groups.size());
  for (const std::vector<std::uint32_t>& group : groups)
    plans.push_back(
        plan(call.collective, static_cast<double>(call.bytes), group, algorithm_, placement_));

  const std::vector<double> seconds = simulate_alone(cluster_, placement_, plans);
  for (std::size_t i = 0; i < groups.size(); ++i)
    for (const std::uint32_t rank : groups[i]) {
      double& device = slowest[ranks_.of(rank).pp];
      device = std::max(device, seconds[i]);
    }
  return slowest;
}

void add_exposed_time(const cluster::Cluster& cluster, const Job& job,
                      workload::StageCosts& costs) {
  if (!job.ranks || costs.traffic.empty()) return;
  const RankPlacement placement(cluster, job.hosts);
  CollectiveTimes times(cluster, *job.ranks, placement, job.conditions.communication.all_reduce);
  add_exposed_time(job, costs, [&](const workload::Call& call, std::uint32_t device) {
    return times.seconds(call, device);
  });
}

void add_exposed_time(const Job& job, workload::StageCosts& costs, const CallSeconds& seconds) {
  if (!job.ranks || costs.traffic.empty()) return;
  const config::Communication& communication = job.conditions.communication;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
    auto& times_by_stage = costs.times.of_stage[kind];
    if (times_by_stage.empty()) continue;
    auto& waits = costs.collective_waits[kind];
    waits.assign(times_by_stage.size(), 0);
    auto& overlapped = costs.overlapped[kind];
    overlapped.assign(times_by_stage.size(), 0);
    for (const std::size_t half : {0U, 1U}) {
      costs.dispatch[half][kind].assign(times_by_stage.size(), 0);
      costs.dispatch_waits[half][kind].assign(times_by_stage.size(), 0);
    }
    auto& timed = costs.timed_calls[kind];
    timed.assign(times_by_stage.size(), {});
    for (std::uint32_t stage = 0; stage < times_by_stage.size(); ++stage) {
      const std::uint32_t device = job.schedule.routes.device(stage, 0);
      const auto kind_of_pass = static_cast<schedules::PassKind>(kind);
      for (const workload::Call& call : costs.traffic[stage].inside[kind]) {
        const double slowdown = call.is_dispatch() ? job.dispatch_slowdown(kind_of_pass, stage)
                                                   : job.overlap_slowdown(kind_of_pass, stage);
        const double call_seconds = seconds(call, device);
        const std::optional<std::size_t> half = job.half_in_pair(call);
        const Hidden hidden_call =
            hidden(call_seconds, call.overlappable_compute / call.times, slowdown);
        timed[stage].push_back({.group = call.group,
                                .name = call.name(),
                                .bytes = call.bytes,
                                .half = half,
                                .times = call.times,
                                .seconds = call_seconds,
                                .compute = call.overlappable_compute / call.times,
                                .waits = call.times * hidden_call.waits});
        waits[stage] += call.times * hidden_call.waits;
        overlapped[stage] += call.times * hidden_call.overlap;
        if (!half) continue;
        costs.dispatch[*half][kind][stage] += call.times * call_seconds;
        costs.dispatch_waits[*half][kind][stage] += call.times * hidden_call.waits;
      }
      const schedules::Pass pass{kind_of_pass, static_cast<std::uint16_t>(stage)};
      if (communication.detail == config::Detail::fast)
        times_by_stage[stage] += costs.exposed(pass);
    }
  }
  for (std::uint32_t device = 0; device < costs.step_calls.size(); ++device)
    for (const workload::Call& call : costs.step_calls[device])
      costs.optimizer_seconds[device] +=
          call.times *
          hidden(seconds(call, device), call.overlappable_compute / call.times, 1).waits;
}

}  // namespace pipewright::execution
