#include "sim/workload/plan/planner.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/enum_names.hpp"
#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/allowance.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/plan/searched_schedule.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::workload {

using schedules::PassKind;
using schedules::Schedule;

namespace {

// Returns whether a schedule of the catalog has an option to run forward and backward passes in
// fused pairs.
bool supports_fused_pairs(const std::string& name) {
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

Planner::PlanningCosts Planner::costs_from_times(const schedules::Routes& routes) const {
  const std::uint32_t devices = scenario_.devices.value;
  PlanningCosts costs{.hop = scenario_.p2p_time};
  const auto set = [&](PassKind kind, const std::optional<config::PassTimes>& pass_times) {
    auto seconds = pass_times ? stage_times(pass_times->value, routes, devices, 1) : std::nullopt;
    if (!seconds) return false;
    add_overhead(scenario_.pass_overhead, *seconds);
    costs.times[kind] = std::move(*seconds);
    return true;
  };
  const bool has_all_times = set(PassKind::forward, scenario_.forward_times) &&
                             set(PassKind::input_grad, scenario_.input_grad_times) &&
                             set(PassKind::weight_grad, scenario_.weight_grad_times);
  if (!has_all_times) costs.times = {};
  costs.input_grad_releases = 1;
  for (std::uint32_t device = 0; device < devices; ++device) {
    const auto total = static_cast<double>(scenario_.activation.per_microbatch.at(device));
    const auto released =
        static_cast<double>(scenario_.activation.released_by_input_grad.at(device));
    costs.input_grad_releases =
        std::min(costs.input_grad_releases,
                 total > 0 ? released / total : config::typical_input_grad_release);
  }
  return costs;
}

Planner::PlanningCosts Planner::costs_from_model(const schedules::Routes& routes,
                                                 const std::string& name) const {
  StageCosts stage_costs = placement_costs(scenario_, routes, gpus_, name);
  if (estimate_.add_waits) estimate_.add_waits(routes, stage_costs);
  PlanningCosts costs{
      .times = stage_costs.times,
      .hop = estimate_.hop ? estimate_.hop(routes, stage_costs.boundary_bytes) : scenario_.p2p_time,
      .input_grad_releases = 1};
  for (const Activations& stage : stage_costs.activations)
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
  // A schedule whose order is planned with times needs those of its placement. For other schedules
  // they are not computed, as the scenario's list of times may not fit their number of stages.
  if (const auto routes = planned_placement(spec.name, parameters.devices)) {
    auto entry = planning_costs_.find(routes->stages());
    if (entry == planning_costs_.end())
      entry = planning_costs_
                  .emplace(routes->stages(), scenario_.model ? costs_from_model(*routes, spec.name)
                                                             : costs_from_times(*routes))
                  .first;
    parameters.device_times = entry->second.times;
    parameters.hop = entry->second.hop;
    parameters.input_grad_releases = entry->second.input_grad_releases;
  }
  spec.put_choices(parameters);
  if (const std::uint32_t barriers = scenario_.parallel.barriers();
      barriers > 0 || scenario_.model) {
    const auto& choice = spec[&schedules::Parameters::barriers];
    if (choice && choice->value != barriers)
      throw config::Error(
          choice->origin,
          fmt::format(
              "{} has {} barriers, and parallel.vocab_parallel {} has {}", spec.name, choice->value,
              base::name_of(config::vocabulary_cut_names, scenario_.parallel.vocabulary), barriers))
          .suggest("leave out barriers, which follow from parallel.vocab_parallel");
    parameters.barriers = barriers;
  }
  if (scenario_.training.experts.overlap && !parameters.fused && supports_fused_pairs(spec.name))
    parameters.fused = 1;
  return parameters;
}

// Throws config::Error if the schedule or the recomputation rules out that expert dispatch overlaps
// with another pass, by the rules of Megatron-LM: it needs a schedule with pairs of passes, and a
// backward pass must not begin with a recomputed forward pass. The latter does not apply to
// DualPipe, which is not part of Megatron-LM.
void Planner::check_pairs(const config::ScheduleSpec& spec, const Schedule* schedule) const {
  const config::ExpertTraining& experts = scenario_.training.experts;
  if (!experts.overlap) return;
  if (schedule != nullptr && has_fused_pairs(*schedule)) {
    if (scenario_.training.recompute.granularity != config::Recompute::Granularity::full ||
        splits_backward(*schedule))
      return;
    throw config::Error(
        config::origin_of(scenario_.tree, "training.recompute"),
        fmt::format("training.experts.overlap is true and training.recompute is full, which "
                    "Megatron-LM rejects together with {}",
                    schedule->name))
        .allow("none, or modules such as training.recompute='{modules: [moe_act]}'");
  }
  const auto& fused_choice = spec[&schedules::Parameters::fused];
  // The schedule supports pairs of passes but has none, because there are too few microbatches;
  // this is no error.
  if (supports_fused_pairs(spec.name) && (!fused_choice || fused_choice->value != 0)) return;
  std::vector<std::string_view> names;
  for (const schedules::Entry& entry : schedules::catalog())
    if (entry.takes(&schedules::Parameters::fused)) names.push_back(entry.name);
  throw config::Error(fused_choice ? fused_choice->origin : spec.origin,
                      fmt::format("training.experts.overlap is true, but {}{} runs no forward pass "
                                  "together with a backward pass",
                                  spec.name, fused_choice ? " with fused: false" : ""))
      .suggest(fmt::format("use one of {}, or omit it", fmt::join(names, ", ")));
}

void check_vocabulary(const config::Scenario& scenario, const config::ScheduleSpec& spec) {
  if (!scenario.parallel.cuts_vocabulary()) return;
  const bool interlaced = scenario.parallel.vocabulary == config::VocabularyCut::interlaced;
  std::vector<std::string_view> names;
  for (const schedules::Entry& entry : schedules::catalog())
    if (entry.takes(&schedules::Parameters::barriers) && interlaced == (entry.name == "interlaced"))
      names.push_back(entry.name);
  if (std::ranges::find(names, spec.name) != names.end()) return;
  throw config::Error(
      spec.origin,
      fmt::format(
          "parallel.vocab_parallel is {}, but {} cannot run the passes of a split vocabulary",
          base::name_of(config::vocabulary_cut_names, scenario.parallel.vocabulary), spec.name))
      .allow(fmt::format("{}, or vocab_parallel none", fmt::join(names, ", ")));
}

std::shared_ptr<const Schedule> Planner::schedule(const config::ScheduleSpec& spec) {
  check_vocabulary(scenario_, spec);
  if (config::schedule_source(spec.name) == config::ScheduleSource::search) {
    check_pairs(spec, nullptr);
    Schedule found_schedule = searched_schedule(spec, search_request(spec));
    schedules::set_iterations(found_schedule, scenario_.iterations.value);
    return std::make_shared<const Schedule>(std::move(found_schedule));
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

const StageCosts& Planner::costs_on_placement(const Schedule& schedule) {
  const auto match = std::ranges::find_if(placements_, [&](const PlacementCosts& entry) {
    return entry.slices == schedule.slices && entry.braids == schedule.braids &&
           entry.routes == schedule.routes;
  });
  if (match != placements_.end()) return match->costs;
  StageCosts costs = shared_costs(scenario_, schedule, gpus_);
  if (settle_) settle_(schedule, costs);
  return placements_
      .emplace_back(
          PlacementCosts{schedule.routes, schedule.slices, schedule.braids, std::move(costs)})
      .costs;
}

const StageCosts& Planner::costs(const Schedule& schedule) {
  // Times that the scenario gives may fit some schedules on a placement and not others, so these
  // costs are computed for each schedule.
  if (!scenario_.model) {
    schedule_costs_ = shared_costs(scenario_, schedule, gpus_);
    if (settle_) settle_(schedule, schedule_costs_);
  }
  const StageCosts* costs = scenario_.model ? &costs_on_placement(schedule) : &schedule_costs_;
  if (scenario_.model && needs_allowance(scenario_.training)) {
    schedule_costs_ = *costs;
    add_allowance(scenario_.training, schedule, schedule_costs_);
    costs = &schedule_costs_;
  }
  // A schedule that runs W as a pass of its own anywhere can also run W separately within fused
  // pairs.
  if (has_fused_pairs(schedule) &&
      (scenario_.training.experts.delay_wgrad || splits_backward(schedule))) {
    if (costs != &schedule_costs_) schedule_costs_ = *costs;
    schedule_costs_.weight_grads_apart = true;
    costs = &schedule_costs_;
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
