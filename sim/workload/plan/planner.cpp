#include "sim/workload/plan/planner.hpp"

#include <algorithm>
#include <utility>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/allowance.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/plan/searched_schedule.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::workload {

using schedules::PassKind;
using schedules::Schedule;

Planner::Planner(const config::Scenario& scenario, const Gpus& gpus, NetworkEstimate estimate,
                 ScheduleCache* cache, Settle settle)
    : scenario_(scenario),
      gpus_(gpus),
      estimate_(std::move(estimate)),
      cache_(cache),
      settle_(std::move(settle)) {}

Planner::PlanningCosts Planner::given_costs(const schedules::Routes& routes) const {
  const std::uint32_t devices = scenario_.devices.value;
  PlanningCosts costs{.hop = scenario_.p2p_time};
  const auto set = [&](PassKind kind, const std::optional<config::PassTimes>& given) {
    auto of_stage = given ? stage_times(given->value, routes, devices, 1) : std::nullopt;
    if (!of_stage) return false;
    add_overhead(scenario_.pass_overhead, *of_stage);
    costs.times[kind] = std::move(*of_stage);
    return true;
  };
  const bool all = set(PassKind::forward, scenario_.forward_times) &&
                   set(PassKind::input_grad, scenario_.input_grad_times) &&
                   set(PassKind::weight_grad, scenario_.weight_grad_times);
  if (!all) costs.times = {};
  costs.input_grad_releases = 1;
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto whole = static_cast<double>(scenario_.activation.per_microbatch.at(device));
    const auto early = static_cast<double>(scenario_.activation.released_by_input_grad.at(device));
    costs.input_grad_releases = std::min(
        costs.input_grad_releases, whole > 0 ? early / whole : config::typical_input_grad_release);
  }
  return costs;
}

Planner::PlanningCosts Planner::model_costs(const schedules::Routes& routes,
                                            const std::string& name) const {
  StageCosts plain = placement_costs(scenario_, routes, gpus_, name);
  if (estimate_.add_waits) estimate_.add_waits(routes, plain);
  PlanningCosts costs{
      .times = plain.times,
      .hop = estimate_.hop ? estimate_.hop(routes, plain.boundary_bytes) : scenario_.p2p_time,
      .input_grad_releases = 1};
  for (const Activations& stage : plain.activations)
    if (stage.held > 0)
      costs.input_grad_releases =
          std::min(costs.input_grad_releases, static_cast<double>(stage.released_by_input_grad) /
                                                  static_cast<double>(stage.held));
  return costs;
}

schedules::Parameters Planner::parameters(const config::ScheduleSpec& spec) {
  schedules::Parameters parameters{.devices = scenario_.devices.value,
                                   .microbatches = scenario_.microbatches.value,
                                   .iterations = scenario_.iterations.value};
  // The others may have more stages a device than the times of a scenario suit.
  if (const auto routes = planned_placement(spec.name, parameters.devices)) {
    auto known = planning_costs_.find(routes->stages());
    if (known == planning_costs_.end())
      known = planning_costs_
                  .emplace(routes->stages(),
                           scenario_.model ? model_costs(*routes, spec.name) : given_costs(*routes))
                  .first;
    parameters.device_times = known->second.times;
    parameters.hop = known->second.hop;
    parameters.input_grad_releases = known->second.input_grad_releases;
  }
  spec.put_choices(parameters);
  return parameters;
}

std::shared_ptr<const Schedule> Planner::schedule(const config::ScheduleSpec& spec) {
  if (config::schedule_source(spec.name) == config::ScheduleSource::search) {
    Schedule found = searched_schedule(spec, search_request(spec));
    schedules::set_iterations(found, scenario_.iterations.value);
    return std::make_shared<const Schedule>(std::move(found));
  }
  try {
    if (cache_ != nullptr) return cache_->load(spec.name, parameters(spec));
    return std::make_shared<const Schedule>(load_schedule(spec.name, parameters(spec)));
  } catch (const schedules::Error& error) {
    throw config::Error(config::locate(spec.origin, error.what()));
  }
}

const StageCosts& Planner::placed(const Schedule& schedule) {
  const auto known = std::ranges::find_if(placed_, [&](const Placed& one) {
    return one.slices == schedule.slices && one.routes == schedule.routes;
  });
  if (known != placed_.end()) return known->costs;
  StageCosts costs = shared_costs(scenario_, schedule, gpus_);
  if (settle_) settle_(schedule, costs);
  return placed_.emplace_back(Placed{schedule.routes, schedule.slices, std::move(costs)}).costs;
}

const StageCosts& Planner::costs(const Schedule& schedule) {
  // What a scenario gives may not suit all schedules of a placement.
  if (!scenario_.model) {
    own_ = shared_costs(scenario_, schedule, gpus_);
    if (settle_) settle_(schedule, own_);
  }
  const StageCosts* costs = scenario_.model ? &placed(schedule) : &own_;
  if (scenario_.model && needs_allowance(scenario_.training)) {
    own_ = *costs;
    add_allowance(scenario_.training, schedule, own_);
    costs = &own_;
  }
  check_memory_can_be_counted(schedule, *costs);
  return *costs;
}

Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec, const Gpus& gpus,
               const NetworkEstimate& estimate) {
  Planner planner(scenario, gpus, estimate);
  const auto schedule = planner.schedule(spec);
  return {.schedule = *schedule, .costs = planner.costs(*schedule)};
}

Plan make_plan(const config::Scenario& scenario, Schedule schedule, const Gpus& gpus) {
  Planner planner(scenario, gpus);
  StageCosts costs = planner.costs(schedule);
  return {.schedule = std::move(schedule), .costs = std::move(costs)};
}

}  // namespace pipewright::workload
