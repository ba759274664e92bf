#include "sim/workload/plan.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/planner.hpp"
#include "sim/workload/sought.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

constexpr std::size_t index(PassKind kind) { return static_cast<std::size_t>(kind); }

std::vector<double> per_stage(const config::PassTimes& times, std::string_view name,
                              const Schedule& schedule) {
  const auto found = stage_times(times.value, schedule.routes, schedule.devices, schedule.slices);
  if (found) return *found;
  std::string allowed = fmt::format("1 or {} (one per device)", schedule.devices);
  if (schedule.chunks > 1)
    allowed = fmt::format("1, {} (one per device) or {} (one per stage of {} chunks a device)",
                          schedule.devices, schedule.stages(), schedule.chunks);
  throw config::Error(
      config::locate(times.origin, fmt::format("{} has {} values; {} takes {}", name,
                                               times.value.size(), schedule.name, allowed)));
}

}  // namespace

schedules::PassTimes pass_times(const config::Scenario& scenario, const Schedule& schedule) {
  schedules::PassTimes times;
  const auto of = [&](PassKind kind) -> std::vector<double>& {
    return times.of_stage[index(kind)];
  };
  of(PassKind::forward) = per_stage(scenario.forward_times, "forward_times", schedule);
  of(PassKind::recompute) = of(PassKind::forward);
  times.overlap = scenario.overlap;
  if (scenario.fused_times) times.fused = per_stage(*scenario.fused_times, "fused_times", schedule);
  if (scenario.backward_times) {
    if (splits_backward(schedule))
      throw config::Error(config::locate(
          scenario.backward_times->origin,
          fmt::format("{} runs the two halves of a backward pass apart, and backward_times is for "
                      "both at once; give input_grad_times and weight_grad_times instead",
                      schedule.name)));
    of(PassKind::backward) = per_stage(*scenario.backward_times, "backward_times", schedule);
    return times;
  }
  of(PassKind::input_grad) =
      per_stage(scenario.input_grad_times.value(), "input_grad_times", schedule);
  of(PassKind::weight_grad) =
      per_stage(scenario.weight_grad_times.value(), "weight_grad_times", schedule);
  complete_times(times);
  return times;
}

namespace {

StageCosts given_stage_costs(const config::Scenario& scenario, const Schedule& schedule) {
  StageCosts costs;
  costs.times = pass_times(scenario, schedule);
  costs.boundary_bytes = scenario.boundary_tensor / schedule.slices;
  costs.activations =
      stage_activations(scenario.activation, schedule.routes, schedule.devices, schedule.slices);
  costs.state = device_states(scenario.state, schedule.routes, schedule.devices);
  if (scenario.parallel.dp.value * scenario.parallel.cp.value == 1) return costs;
  // What is reduced between replicas are the gradients that are held.
  costs.traffic.resize(schedule.stages());
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    costs.traffic[stage].parameters =
        scenario.state.gradients.at(schedule.routes.device(stage, 0)) /
        scenario.communication.gradient_bytes / schedule.chunks;
  return costs;
}

std::optional<config::LayerTimes> layer_times(const config::Scenario& scenario) {
  if (!scenario.layer_times) return std::nullopt;
  return scenario.layer_times->value;
}

// What was measured holds the collectives within passes of those kinds.
void drop_calls(StageCosts& costs, std::initializer_list<PassKind> kinds) {
  for (StageTraffic& stage : costs.traffic)
    for (const PassKind kind : kinds) stage.inside[index(kind)].clear();
}

void drop_measured_calls(const config::Scenario& scenario, StageCosts& costs) {
  if (!scenario.layer_times) return;
  const config::LayerTimes& times = scenario.layer_times->value;
  if (times.forward) drop_calls(costs, {PassKind::forward, PassKind::recompute});
  if (times.backward || times.input_grad)
    drop_calls(costs, {PassKind::input_grad, PassKind::backward});
  if (times.backward || times.weight_grad) drop_calls(costs, {PassKind::weight_grad});
}

// Ring attention always computes beside its exchange; tensor parallelism where it is told to.
void hide_only_on_demand(const config::Scenario& scenario, StageCosts& costs) {
  if (scenario.communication.tp_comm_overlap) return;
  for (StageTraffic& stage : costs.traffic)
    for (std::vector<Call>& calls : stage.inside)
      for (Call& call : calls)
        if (call.group == Group::tp) call.hides_under = 0;
}

// Times that were measured stand above the model's.
void take_measured_times(const config::Scenario& scenario, const Schedule& schedule,
                         StageCosts& costs) {
  const auto take = [&](const config::PassTimes& given, std::string_view name,
                        std::initializer_list<PassKind> kinds) {
    for (const PassKind kind : kinds)
      costs.times.of_stage[index(kind)] = per_stage(given, name, schedule);
    drop_calls(costs, kinds);
  };
  if (!scenario.forward_times.value.empty())
    take(scenario.forward_times, "forward_times", {PassKind::forward, PassKind::recompute});
  if (scenario.backward_times)
    take(*scenario.backward_times, "backward_times", {PassKind::backward});
  if (!scenario.input_grad_times || !scenario.weight_grad_times) return;
  take(*scenario.input_grad_times, "input_grad_times", {PassKind::input_grad, PassKind::backward});
  take(*scenario.weight_grad_times, "weight_grad_times", {PassKind::weight_grad});
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    costs.times.of_stage[index(PassKind::backward)][stage] +=
        costs.times.of_stage[index(PassKind::weight_grad)][stage];
}

}  // namespace

void check_memory_can_be_counted(const Schedule& schedule, const StageCosts& costs) {
  constexpr double most = 9e18;  // below 2^63 bytes
  std::vector<double> peaks;  // looked for only where all microbatches together would be too many
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    double microbatch = 0;
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
      if (schedule.routes.device(stage, 0) == device)
        microbatch += static_cast<double>(costs.activations[stage].held) * schedule.slices;
    const DeviceState& state = costs.state[device];
    const double rest = static_cast<double>(state.weights) * schedule.weight_versions +
                        static_cast<double>(state.gradients) + static_cast<double>(state.optimizer);
    const double all = 2.0 * schedule.total_microbatches();  // on two routes, if there are two
    if (all * microbatch + rest <= most) continue;
    if (peaks.empty()) peaks = schedules::peak_in_flight(schedule);
    const double bytes = peaks[device] * microbatch + rest;
    if (bytes > most)
      throw config::Error(fmt::format(
          "{}: device {} would hold {:.3g} bytes; {:.0e} is the most that can be counted",
          schedule.name, device, bytes, most));
  }
}

StageCosts shared_costs(const config::Scenario& scenario, const Schedule& schedule,
                        const Gpus& gpus) {
  if (!scenario.model) return given_stage_costs(scenario, schedule);
  StageCosts costs = model_costs({.model = scenario.model->value,
                                  .training = scenario.training,
                                  .parallel = scenario.parallel,
                                  .partition = scenario.partition,
                                  .gpus = gpus,
                                  .scatter_gather = scenario.communication.scatter_gather,
                                  .measured = layer_times(scenario)},
                                 schedule.routes, schedule.slices);
  drop_measured_calls(scenario, costs);
  hide_only_on_demand(scenario, costs);
  costs.times.overlap = scenario.overlap;
  take_measured_times(scenario, schedule, costs);
  return costs;
}

StageCosts placement_costs(const config::Scenario& scenario, const schedules::Routes& routes,
                           const Gpus& gpus) {
  const auto devices = scenario.devices.value;
  const Schedule placement{.name = "placement",
                           .devices = devices,
                           .chunks = std::max(1U, routes.count() * routes.stages() / devices),
                           .microbatches = scenario.microbatches.value,
                           .routes = routes};
  return shared_costs(scenario, placement, gpus);
}

schedules::SearchRequest sought_order(const config::Scenario& scenario,
                                      const config::ScheduleSpec& spec, const Gpus& gpus,
                                      const Foresight& foresight) {
  if (!scenario.model && !scenario.input_grad_times)
    throw config::Error(config::locate(
        spec.origin,
        "searched seeks an order in which the two halves of a backward pass run apart; give "
        "input_grad_times and weight_grad_times instead of backward_times"));
  const auto costs_of = [=, &scenario](const schedules::Routes& routes) {
    StageCosts costs = placement_costs(scenario, routes, gpus);
    if (foresight.add_waits) foresight.add_waits(routes, costs);
    return costs;
  };
  std::vector<std::uint64_t> capacity = foresight.memory;
  if (capacity.empty())
    for (const config::Gpu& gpu : gpus) capacity.push_back(gpu.memory);
  double hop = scenario.p2p_time;
  if (foresight.hop)
    hop = foresight.hop(
        costs_of(schedules::Routes::looped(scenario.devices.value, 1)).boundary_bytes);
  return sought(scenario, spec, costs_of, capacity, hop);
}

Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec, const Gpus& gpus,
               const Foresight& foresight) {
  Planner planner(scenario, gpus, foresight);
  const auto schedule = planner.schedule(spec);
  return {.schedule = *schedule, .costs = planner.costs(*schedule)};
}

Plan make_plan(const config::Scenario& scenario, Schedule schedule, const Gpus& gpus) {
  Planner planner(scenario, gpus);
  StageCosts costs = planner.costs(schedule);
  return {.schedule = std::move(schedule), .costs = std::move(costs)};
}

}  // namespace pipewright::workload
