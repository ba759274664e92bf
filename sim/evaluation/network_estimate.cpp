#include "sim/evaluation/network_estimate.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/evaluation/sizes.hpp"
#include "sim/execution/pass_work.hpp"

namespace pipewright::evaluation {
namespace {

// Seconds to send a boundary tensor between the devices of consecutive stages, for each hop in both
// directions; a single 0 if there is only one device.
std::vector<double> hop_seconds(const config::Scenario& scenario, const Hardware& hardware,
                                const schedules::Routes& routes, std::uint64_t bytes,
                                std::optional<execution::LeastTimes>& cache) {
  const schedules::Schedule placement = workload::on_placement(scenario, routes);
  const workload::StageCosts no_costs;
  const execution::Job job = plain_job(scenario, hardware, placement, no_costs);
  execution::LeastTimes& times = least_times(scenario, job, cache);
  std::vector<double> seconds;
  for (std::uint32_t stage = 1; stage < routes.stages(); ++stage) {
    const std::uint32_t previous = routes.device(stage - 1, 0);
    const std::uint32_t next = routes.device(stage, 0);
    if (previous == next) continue;
    seconds.push_back(times.hop({0, previous}, next, bytes));
    seconds.push_back(times.hop({0, next}, previous, bytes));
  }
  if (seconds.empty()) seconds.push_back(0);
  return seconds;
}

// Sets the time of each stage's passes to that of the shortest microbatch in the first replica.
void use_shortest_microbatch(const execution::Job& job, execution::LeastTimes& least_times,
                             workload::StageCosts& costs) {
  const execution::ReplicaGroups groups(job, least_times.groups());
  schedules::PassTimes times = costs.times;
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    for (std::uint32_t stage = 0; stage < times.of_stage[kind].size(); ++stage) {
      const execution::ReplicaDevice copy{0, job.schedule.routes.device(stage, 0)};
      double& seconds = times.of_stage[kind][stage];
      seconds = std::numeric_limits<double>::infinity();
      for (std::uint32_t i = 0; i < job.uneven->microbatches; ++i) {
        const schedules::Pass pass{static_cast<schedules::PassKind>(kind),
                                   static_cast<std::uint16_t>(stage), i * job.uneven->slices};
        seconds = std::min(seconds, execution::work_of(job, groups, copy, pass, nullptr).seconds);
      }
    }
  costs.times = times;
}

}  // namespace

execution::LeastTimes& least_times(const config::Scenario& scenario, const execution::Job& job,
                                   std::optional<execution::LeastTimes>& cache) {
  using Sharing = execution::LeastTimes::Sharing;
  if (!cache)
    cache.emplace(
        job, scenario.engine == config::Engine::simgrid ? Sharing::modelled : Sharing::ignored);
  return *cache;
}

workload::NetworkEstimate estimate_network(const config::Scenario& scenario,
                                           const Hardware& hardware,
                                           std::optional<execution::LeastTimes>& cache,
                                           std::vector<std::uint64_t> memory) {
  workload::NetworkEstimate estimate{.add_waits = {}, .hop = {}, .memory = std::move(memory)};
  if (!scenario.cluster) return estimate;
  estimate.add_waits = [&](const schedules::Routes& routes, workload::StageCosts& costs) {
    const schedules::Schedule placement = workload::on_placement(scenario, routes);
    const execution::Job job = plain_job(scenario, hardware, placement, costs);
    execution::add_least_exposed_time(job, least_times(scenario, job, cache), costs);
  };
  estimate.hop = [&](const schedules::Routes& routes, std::uint64_t bytes) {
    return std::ranges::max(hop_seconds(scenario, hardware, routes, bytes, cache));
  };
  return estimate;
}

workload::NetworkEstimate least_estimate(const config::Scenario& scenario, const Hardware& hardware,
                                         std::optional<execution::LeastTimes>& cache,
                                         std::vector<std::uint64_t> memory) {
  workload::NetworkEstimate estimate =
      estimate_network(scenario, hardware, cache, std::move(memory));
  estimate.add_waits = [&, add_waits = std::move(estimate.add_waits)](
                           const schedules::Routes& routes, workload::StageCosts& costs) {
    if (add_waits) add_waits(routes, costs);
    const schedules::Schedule placement = workload::on_placement(scenario, routes);
    const execution::Job job = plain_job(scenario, hardware, placement, costs);
    if (job.uneven) return use_shortest_microbatch(job, least_times(scenario, job, cache), costs);
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
      costs.slow_down(stage, job.straggler_factor({0, routes.device(stage, 0)}),
                      scenario.communication.detail);
  };
  if (estimate.hop)
    estimate.hop = [&](const schedules::Routes& routes, std::uint64_t bytes) {
      return std::ranges::min(hop_seconds(scenario, hardware, routes, bytes, cache));
    };
  return estimate;
}

workload::Plan plan_on(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                       const Hardware& hardware) {
  check_stages(scenario, spec, hardware.cluster);
  std::optional<execution::LeastTimes> cache;
  return workload::make_plan(scenario, spec, hardware.gpus,
                             estimate_network(scenario, hardware, cache, memory_of(hardware)));
}

}  // namespace pipewright::evaluation
