#include "sim/evaluation/launch_plan.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/stack.hpp"
#include "sim/evaluation/refusals.hpp"
#include "sim/workload/model/stage_partition.hpp"
#include "sim/workload/plan/modelled.hpp"

namespace pipewright::evaluation {
namespace {

// GPUs of the smallest machine that starts processes of the job.
std::uint64_t gpus_per_host(const Hardware& hardware) {
  std::uint64_t fewest = 0;
  for (const cluster::Host* const gpu : hardware.hosts) {
    const std::uint64_t of_node = hardware.cluster.nodes()[hardware.cluster.node_of(gpu)].size();
    const std::uint64_t of_host = gpu->host_gpus > 0 ? gpu->host_gpus : of_node;
    fewest = fewest == 0 ? of_host : std::min(fewest, of_host);
  }
  return fewest;
}

std::uint64_t gpus_per_domain(const Hardware& hardware) {
  std::uint64_t most = 0;
  for (const cluster::Host* const gpu : hardware.hosts)
    most = std::max<std::uint64_t>(most,
                                   hardware.cluster.nodes()[hardware.cluster.node_of(gpu)].size());
  return most;
}

// Ranks in each domain of the job but the last one, which has the rest; 0 if domains differ.
std::uint64_t ranks_per_domain(const Hardware& hardware) {
  std::vector<std::uint64_t> ranks;
  std::uint32_t last = 0;
  for (const cluster::Host* const gpu : hardware.hosts) {
    const std::uint32_t domain = hardware.cluster.node_of(gpu);
    if (ranks.empty() || domain != last) ranks.push_back(0);
    ++ranks.back();
    last = domain;
  }
  if (ranks.empty()) return 0;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (i + 1 < ranks.size() ? ranks[i] != ranks[0] : ranks[i] > ranks[0]) return 0;
  return ranks.front();
}

// Why the software of a stack refuses the job, by the first rule that it breaks. The scenario's own
// stack may have other rules than its file.
std::string refusal_by(std::string_view stack, const config::Scenario& scenario,
                       const schedules::Schedule& schedule) {
  config::Scenario on_stack = scenario;
  if (stack != scenario.training.stack.name) {
    const config::Value tree =
        config::named_stack_tree({config::make_text(std::string(stack), {}), "stack"});
    on_stack.training.stack = config::read_stack({tree, "stack"});
  }
  // A launch has another schedule, and says so, where the software lacks that of the scenario.
  on_stack.training.stack.schedules.clear();
  const config::ScheduleSpec* spec = &scenario.schedules.front();
  for (const config::ScheduleSpec& other : scenario.schedules)
    if (other.name == schedule.name) spec = &other;
  const std::vector<config::Error> broken = refusals(on_stack, *spec, schedule.routes);
  return broken.empty() ? "" : broken.front().what();
}

}  // namespace

config::LaunchPlan launch_plan(const config::Scenario& scenario, const Hardware& hardware,
                               const schedules::Schedule& schedule) {
  config::LaunchPlan plan{.schedule = &schedule};
  plan.refusal = [&scenario, &schedule](std::string_view stack) {
    return refusal_by(stack, scenario, schedule);
  };
  if (scenario.model && !hardware.gpus.empty())
    for (const workload::StageParts& stage :
         workload::model_partition(workload::model_job(scenario, hardware.gpus), schedule.routes))
      plan.layers.push_back(stage.layers.count);
  if (hardware.cluster.is_ideal()) return plan;
  plan.gpus_per_host = gpus_per_host(hardware);
  plan.gpus_per_domain = gpus_per_domain(hardware);
  plan.ranks_per_domain = ranks_per_domain(hardware);
  return plan;
}

config::LaunchPlan launch_plan(const ScenarioRun& run, std::size_t schedule) {
  return launch_plan(run.scenario(), run.hardware(), run.plans().at(schedule).schedule);
}

}  // namespace pipewright::evaluation
