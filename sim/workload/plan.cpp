#include "sim/workload/plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "schedules/catalog.hpp"
#include "schedules/checks.hpp"

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

Schedule generate(const config::Scenario& scenario, const config::ScheduleSpec& spec) {
  schedules::Parameters parameters{.devices = scenario.devices.value,
                                   .microbatches = scenario.microbatches.value,
                                   .iterations = scenario.iterations.value,
                                   .device_times = device_times(scenario),
                                   .hop = scenario.p2p_time};
  const auto set = [](std::optional<std::uint32_t>& parameter, const auto& given) {
    if (given) parameter = given->value;
  };
  set(parameters.chunks, spec.chunks);
  set(parameters.group_size, spec.group_size);
  set(parameters.slices, spec.slices);
  set(parameters.recompute, spec.recompute);
  try {
    Schedule schedule = schedules::make_schedule(spec.name, parameters);
    schedules::check_complete(schedule);
    return schedule;
  } catch (const schedules::Error& error) {
    throw config::Error(config::locate(spec.origin, error.what()));
  }
}

// One time, or one per device, is shared by a device's chunks; one per stage is taken as it is.
std::vector<double> per_stage(const config::PassTimes& times, std::string_view name,
                              const Schedule& schedule) {
  const std::vector<double>& given = times.value;
  const std::uint32_t stages = schedule.stages();
  if (given.size() == stages && given.size() != schedule.devices) {
    std::vector<double> result = given;
    for (double& seconds : result) seconds /= schedule.slices;
    return result;
  }
  if (given.size() != 1 && given.size() != schedule.devices) {
    std::string allowed = fmt::format("1 or {} (one per device)", schedule.devices);
    if (schedule.chunks > 1)
      allowed = fmt::format("1, {} (one per device) or {} (one per stage of {} chunks a device)",
                            schedule.devices, stages, schedule.chunks);
    throw config::Error(config::locate(
        times.origin,
        fmt::format("{} has {} values; {} takes {}", name, given.size(), schedule.name, allowed)));
  }
  std::vector<double> result;
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    result.push_back(given[given.size() == 1 ? 0 : schedule.routes.device(stage, 0)] *
                     schedule.share());
  return result;
}

bool splits_backward(const Schedule& schedule) {
  for (const schedules::Program& program : schedule.programs)
    for (const schedules::Loop& loop : program.loops)
      for (const schedules::Pass& pass : loop.body)
        if (pass.kind == PassKind::input_grad) return true;
  return false;
}

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
  const auto& input = of(PassKind::input_grad) =
      per_stage(scenario.input_grad_times.value(), "input_grad_times", schedule);
  const auto& weight = of(PassKind::weight_grad) =
      per_stage(scenario.weight_grad_times.value(), "weight_grad_times", schedule);
  of(PassKind::backward).resize(input.size());
  std::transform(input.begin(), input.end(), weight.begin(), of(PassKind::backward).begin(),
                 std::plus<>());
  return times;
}

// A chunk's share of its device's bytes; the shares add up to them exactly.
std::uint64_t share(std::uint64_t bytes, std::uint32_t chunk, std::uint32_t chunks) {
  return bytes / chunks + (chunk < bytes % chunks ? 1 : 0);
}

std::vector<Activations> activations(const config::Activation& given, const Schedule& schedule) {
  std::vector<Activations> result;
  const std::uint32_t chunks_of_part = schedule.stages() / schedule.devices;
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
    const std::uint32_t device = schedule.routes.device(stage, 0);
    const std::uint32_t chunk = chunks_of_part == 1 ? 0 : schedule.routes.chunk(stage, 0);
    const auto part = [&](const config::DeviceBytes& bytes) {
      return share(bytes.at(device), chunk, chunks_of_part) / schedule.slices;
    };
    const std::uint64_t by_input = part(given.released_by_input_grad);
    const std::uint64_t by_weight = part(given.released_by_weight_grad);
    result.push_back({.held = by_input + by_weight, .released_by_input_grad = by_input});
  }
  return result;
}

// Where every stage lives on several devices, each device holds several devices' parts.
std::vector<DeviceState> device_states(const config::State& given, const Schedule& schedule) {
  std::vector<DeviceState> states(schedule.devices);
  std::set<std::pair<std::uint32_t, std::uint32_t>> counted;  // (holder, part of this device)
  for (std::uint32_t route = 0; route < schedule.routes.count(); ++route)
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
      const std::uint32_t holder = schedule.routes.device(stage, route);
      const std::uint32_t part = schedule.routes.device(stage, 0);
      if (!counted.insert({holder, part}).second) continue;
      states[holder].weights += given.weights.at(part);
      states[holder].gradients += given.gradients.at(part);
      states[holder].optimizer += given.optimizer.at(part);
    }
  return states;
}

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
  Plan plan{.schedule = generate(scenario, spec), .costs = {}};
  plan.costs.times = pass_times(scenario, plan.schedule);
  plan.costs.boundary_bytes = scenario.boundary_tensor / plan.schedule.slices;
  plan.costs.activations = activations(scenario.activation, plan.schedule);
  plan.costs.state = device_states(scenario.state, plan.schedule);
  check_memory_can_be_counted(scenario, plan);
  return plan;
}

}  // namespace pipewright::workload
