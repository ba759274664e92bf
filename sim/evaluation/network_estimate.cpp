#include "sim/evaluation/network_estimate.hpp"

#include <algorithm>
#include <utility>

#include "sim/evaluation/sizes.hpp"

namespace pipewright::evaluation {
namespace {

schedules::Schedule on_placement(const config::Scenario& scenario,
                                 const schedules::Routes& routes) {
  return {.name = "placement",
          .devices = scenario.devices.value,
          .chunks = std::max(1U, routes.count() * routes.stages() / scenario.devices.value),
          .microbatches = scenario.microbatches.value,
          .routes = routes};
}

}  // namespace

execution::LeastTimes& least_times(const config::Scenario& scenario, const execution::Job& job,
                                   std::optional<execution::LeastTimes>& least) {
  using Sharing = execution::LeastTimes::Sharing;
  if (!least)
    least.emplace(job,
                  scenario.engine == config::Engine::simgrid ? Sharing::known : Sharing::ignored);
  return *least;
}

workload::NetworkEstimate estimate_network(const config::Scenario& scenario,
                                           const Hardware& hardware,
                                           std::optional<execution::LeastTimes>& least,
                                           std::vector<std::uint64_t> memory) {
  workload::NetworkEstimate estimate{.add_waits = {}, .hop = {}, .memory = std::move(memory)};
  if (!scenario.cluster) return estimate;
  estimate.add_waits = [&](const schedules::Routes& routes, workload::StageCosts& costs) {
    const schedules::Schedule placement = on_placement(scenario, routes);
    const execution::Job job = plain_job(scenario, hardware, placement, costs);
    execution::add_least_waits(job, least_times(scenario, job, least), costs);
  };
  estimate.hop = [&](const schedules::Routes& routes, std::uint64_t bytes) {
    const schedules::Schedule placement = on_placement(scenario, routes);
    const workload::StageCosts no_costs;
    const execution::Job job = plain_job(scenario, hardware, placement, no_costs);
    execution::LeastTimes& times = least_times(scenario, job, least);
    double slowest = 0;
    for (std::uint32_t device = 0; device + 1 < scenario.devices.value; ++device)
      slowest = std::max({slowest, times.hop(0, device, device + 1, bytes),
                          times.hop(0, device + 1, device, bytes)});
    return slowest;
  };
  return estimate;
}

workload::Plan plan_on(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                       const Hardware& hardware) {
  check_stages(scenario, spec, hardware.cluster);
  std::optional<execution::LeastTimes> least;
  return workload::make_plan(scenario, spec, hardware.gpus,
                             estimate_network(scenario, hardware, least, memory_of(hardware)));
}

}  // namespace pipewright::evaluation
