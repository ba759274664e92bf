#include "sim/workload/plan/planner.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/allowance.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/plan/searched_schedule.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::workload {

using schedules::PassKind;
using schedules::Schedule;

namespace {

// Whether it can run forward and backward passes in fused pairs.
bool takes_pairs(const std::string& name) {
  const auto entry = std::ranges::find(schedules::catalog(), name, &schedules::Entry::name);
  return entry != schedules::catalog().end() && entry->takes(&schedules::Parameters::fused);
}

}  // namespace

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
                                   .iterations = scenario_.iterations.value,
                                   .ahead = scenario_.parallel.barriers()};
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
  if (scenario_.training.experts.overlap && !parameters.fused && takes_pairs(spec.name))
    parameters.fused = 1;
  return parameters;
}

// As Megatron-LM, which overlaps dispatch neither in other schedules nor where a backward pass
// begins with its forward pass once more. DualPipe is another's.
void Planner::check_pairs(const config::ScheduleSpec& spec, const Schedule* schedule) const {
  const config::ExpertTraining& experts = scenario_.training.experts;
  if (!experts.overlap) return;
  if (schedule != nullptr && has_fused_pairs(*schedule)) {
    using Granularity = config::Recompute::Granularity;
    if (scenario_.training.recompute.granularity != Granularity::full || splits_backward(*schedule))
      return;
    throw config::Error(config::locate(
        config::origin_of(scenario_.tree, "training.recompute"),
        fmt::format("training.experts.overlap is true, and training.recompute is full, which "
                    "Megatron-LM refuses together; allowed with {}: none, or modules such as "
                    "training.recompute='{{modules: [moe_act]}}'",
                    schedule->name)));
  }
  const auto& asked = spec[&schedules::Parameters::fused];
  if (takes_pairs(spec.name) && (!asked || asked->value != 0)) return;  // too few microbatches
  std::vector<std::string_view> names;
  for (const schedules::Entry& entry : schedules::catalog())
    if (entry.takes(&schedules::Parameters::fused)) names.push_back(entry.name);
  throw config::Error(config::locate(
      asked ? asked->origin : spec.origin,
      fmt::format("training.experts.overlap is true, and {}{} runs no forward pass together with a "
                  "backward pass; take one of {}, or leave it out",
                  spec.name, asked ? " with fused: false" : "", fmt::join(names, ", "))));
}

void check_vocabulary(const config::Scenario& scenario, const config::ScheduleSpec& spec) {
  if (!scenario.parallel.cuts_vocabulary() || spec.name == "1f1b") return;
  throw config::Error(config::locate(
      spec.origin,
      fmt::format(
          "parallel.vocab_parallel is {}, whose passes have no place in {}; allowed: 1f1b, "
          "or vocab_parallel none",
          config::vocabulary_cut_names.at(static_cast<std::size_t>(scenario.parallel.vocabulary)),
          spec.name)));
}

std::shared_ptr<const Schedule> Planner::schedule(const config::ScheduleSpec& spec) {
  check_vocabulary(scenario_, spec);
  if (config::schedule_source(spec.name) == config::ScheduleSource::search) {
    check_pairs(spec, nullptr);
    Schedule found = searched_schedule(spec, search_request(spec));
    schedules::set_iterations(found, scenario_.iterations.value);
    return std::make_shared<const Schedule>(std::move(found));
  }
  try {
    auto schedule =
        cache_ != nullptr
            ? cache_->load(spec.name, parameters(spec))
            : std::make_shared<const Schedule>(load_schedule(spec.name, parameters(spec)));
    check_pairs(spec, schedule.get());
    return schedule;
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
  // A schedule that runs W apart anywhere has the split that this takes.
  if (has_fused_pairs(schedule) &&
      (scenario_.training.experts.delay_wgrad || splits_backward(schedule))) {
    if (costs != &own_) own_ = *costs;
    own_.weight_grads_apart = true;
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
