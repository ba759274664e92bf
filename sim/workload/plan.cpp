#include "sim/workload/plan.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

// Times of whole devices, where the scenario gives such: what greedy schedules plan with.
schedules::PassTimes device_times(const config::Scenario& scenario) {
  const std::uint32_t devices = scenario.devices.value;
  schedules::PassTimes times;
  const auto set = [&](PassKind kind, const std::optional<config::PassTimes>& given) {
    if (!given || (given->value.size() != 1 && given->value.size() != devices)) return false;
    auto& of_device = times.of_stage[static_cast<int>(kind)] = given->value;
    of_device.resize(devices, given->value.front());
    return true;
  };
  const bool all = set(PassKind::forward, scenario.forward_times) &&
                   set(PassKind::input_grad, scenario.input_grad_times) &&
                   set(PassKind::weight_grad, scenario.weight_grad_times);
  return all ? times : schedules::PassTimes{};
}

// The part of a microbatch's activations that I frees, least over devices.
double released_early(const config::Scenario& scenario) {
  const config::Activation& activation = scenario.activation;
  double least = 1;
  for (std::uint32_t device = 0; device < scenario.devices.value; ++device) {
    const auto whole = static_cast<double>(activation.per_microbatch.at(device));
    const auto early = static_cast<double>(activation.released_by_input_grad.at(device));
    least = std::min(least, whole > 0 ? early / whole : 0);
  }
  return least;
}

Schedule generate(const config::Scenario& scenario, const config::ScheduleSpec& spec) {
  schedules::Parameters parameters{.devices = scenario.devices.value,
                                   .microbatches = scenario.microbatches.value,
                                   .iterations = scenario.iterations.value,
                                   .device_times = device_times(scenario),
                                   .hop = scenario.p2p_time,
                                   .input_grad_releases = released_early(scenario)};
  const auto set = [](std::optional<std::uint32_t>& parameter, const auto& given) {
    if (given) parameter = given->value;
  };
  set(parameters.chunks, spec.chunks);
  set(parameters.group_size, spec.group_size);
  set(parameters.slices, spec.slices);
  set(parameters.recompute, spec.recompute);
  try {
    return load_schedule(spec.name, parameters);
  } catch (const schedules::Error& error) {
    throw config::Error(config::locate(spec.origin, error.what()));
  }
}

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
    return times.of_stage[static_cast<int>(kind)];
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

void check_memory_can_be_counted(const config::Scenario& scenario, const Plan& plan) {
  constexpr double most = 9e18;  // below 2^63 bytes
  const std::vector<double> peaks = schedules::peak_in_flight(plan.schedule);
  for (std::uint32_t device = 0; device < plan.schedule.devices; ++device) {
    const DeviceState& state = plan.costs.state[device];
    const double bytes =
        peaks[device] * static_cast<double>(scenario.activation.per_microbatch.at(device)) +
        static_cast<double>(state.weights) * plan.schedule.weight_versions +
        static_cast<double>(state.gradients) + static_cast<double>(state.optimizer);
    if (bytes > most)
      throw config::Error(fmt::format(
          "{}: device {} would hold {:.3g} bytes; {:.0e} is the most that can be counted",
          plan.schedule.name, device, bytes, most));
  }
}

}  // namespace

Plan make_plan(const config::Scenario& scenario, const config::ScheduleSpec& spec) {
  return make_plan(scenario, generate(scenario, spec));
}

Plan make_plan(const config::Scenario& scenario, Schedule schedule) {
  Plan plan{.schedule = std::move(schedule), .costs = {}};
  const Schedule& made = plan.schedule;
  plan.costs.times = pass_times(scenario, made);
  plan.costs.boundary_bytes = scenario.boundary_tensor / made.slices;
  plan.costs.activations =
      stage_activations(scenario.activation, made.routes, made.devices, made.slices);
  plan.costs.state = device_states(scenario.state, made.routes, made.devices);
  check_memory_can_be_counted(scenario, plan);
  return plan;
}

}  // namespace pipewright::workload
