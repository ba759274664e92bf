#include "sim/workload/plan.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "schedules/catalog.hpp"
#include "schedules/checks.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

Schedule generate(const config::Scenario& scenario, const config::ScheduleSpec& spec) {
  schedules::Parameters parameters{.devices = scenario.devices.value,
                                   .microbatches = scenario.microbatches.value,
                                   .iterations = scenario.iterations.value};
  if (spec.chunks) parameters.chunks = spec.chunks->value;
  if (spec.group_size) parameters.group_size = spec.group_size->value;
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
  if (given.size() == stages) return given;
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
    result.push_back(given[given.size() == 1 ? 0 : schedule.routes.device(stage, 0)] /
                     schedule.chunks);
  return result;
}

schedules::PassTimes pass_times(const config::Scenario& scenario, const Schedule& schedule) {
  schedules::PassTimes times;
  const auto of = [&](PassKind kind) -> std::vector<double>& {
    return times.of_stage[static_cast<int>(kind)];
  };
  of(PassKind::forward) = per_stage(scenario.forward_times, "forward_times", schedule);
  if (scenario.backward_times) {
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
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
    const std::uint32_t device = schedule.routes.device(stage, 0);
    const std::uint32_t chunk = schedule.routes.chunk(stage, 0);
    const std::uint64_t by_input =
        share(given.released_by_input_grad.at(device), chunk, schedule.chunks);
    const std::uint64_t by_weight =
        share(given.released_by_weight_grad.at(device), chunk, schedule.chunks);
    result.push_back({.held = by_input + by_weight, .released_by_input_grad = by_input});
  }
  return result;
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
  plan.costs.boundary_bytes = scenario.boundary_tensor;
  plan.costs.activations = activations(scenario.activation, plan.schedule);
  for (std::uint32_t device = 0; device < plan.schedule.devices; ++device)
    plan.costs.state.push_back({.weights = scenario.state.weights.at(device),
                                .gradients = scenario.state.gradients.at(device),
                                .optimizer = scenario.state.optimizer.at(device)});
  check_memory_can_be_counted(scenario, plan);
  return plan;
}

}  // namespace pipewright::workload
