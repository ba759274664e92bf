#include "sim/workload/by_stage.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace pipewright::workload {
namespace {

using schedules::Routes;

// Returns the bytes of a device that one of its chunks gets. The bytes of all chunks add up
// exactly.
std::uint64_t chunk_share(std::uint64_t bytes, std::uint32_t chunk, std::uint32_t chunks) {
  return bytes / chunks + (chunk < bytes % chunks ? 1 : 0);
}

}  // namespace

std::vector<std::uint32_t> devices_of(const Routes& routes, std::uint32_t stage) {
  std::set<std::uint32_t> devices;
  for (std::uint32_t route = 0; route < routes.count(); ++route)
    devices.insert(routes.device(stage, route));
  return {devices.begin(), devices.end()};
}

std::uint32_t microbatches_of(const Routes& routes, std::uint32_t route,
                              std::uint32_t microbatches) {
  return (microbatches + routes.count() - 1 - route) / routes.count();
}

std::optional<std::vector<double>> stage_times(const std::vector<double>& values,
                                               const Routes& routes, std::uint32_t devices,
                                               std::uint32_t slices) {
  const std::uint32_t stages = routes.stages();
  std::vector<double> result;
  if (values.size() == stages && values.size() != devices) {
    for (const double seconds : values) result.push_back(seconds / slices);
    return result;
  }
  if (values.size() != 1 && values.size() != devices) return std::nullopt;
  const double part = static_cast<double>(devices) / stages / slices;
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    result.push_back(values[values.size() == 1 ? 0 : routes.device(stage, 0)] * part);
  return result;
}

std::vector<double> stage_times(const config::PassTimes& times, std::string_view name,
                                const schedules::Schedule& schedule) {
  const auto result = stage_times(times.value, schedule.routes, schedule.devices, schedule.slices);
  if (result) return *result;
  std::string allowed = fmt::format("1 or {} (one per device)", schedule.devices);
  if (schedule.chunks > 1)
    allowed = fmt::format("1, {} (one per device) or {} (one per stage of {} chunks per device)",
                          schedule.devices, schedule.stages(), schedule.chunks);
  throw config::Error(
      config::locate(times.origin, fmt::format("{} has {} values; {} takes {}", name,
                                               times.value.size(), schedule.name, allowed)));
}

void set_vocabulary_times(const config::Scenario& scenario, const schedules::Schedule& schedule,
                          schedules::PassTimes& times) {
  using schedules::PassKind;
  const auto set = [&](PassKind kind, std::string_view key,
                       const std::optional<config::PassTimes>& seconds,
                       const std::optional<config::PassTimes>& partner) {
    std::vector<double>& by_stage = times[kind];
    if (!seconds) {
      if (partner)
        throw config::Error(partner->origin, fmt::format("{} is missing", key))
            .suggest("give both output_times and output_grad_times");
      if (schedule.barriers > 0 && !scenario.model) by_stage.assign(schedule.stages(), 0);
      return;
    }
    if (schedule.barriers == 0)
      throw config::Error(seconds->origin,
                          fmt::format("{} is given, and {} has no S and T", key, schedule.name))
          .suggest("choose parallel.vocab_parallel, or barriers of the schedule");
    const std::vector<double>& values = seconds->value;
    if (values.size() != 1 && values.size() != schedule.devices)
      throw config::Error(seconds->origin, fmt::format("{} has {} times for {} devices", key,
                                                       values.size(), schedule.devices))
          .allow("a single time, or one per device");
    by_stage.clear();
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
      by_stage.push_back(values[values.size() == 1 ? 0 : schedule.routes.device(stage, 0)]);
  };
  set(PassKind::output, "output_times", scenario.output_times, scenario.output_grad_times);
  set(PassKind::output_grad, "output_grad_times", scenario.output_grad_times,
      scenario.output_times);
}

void add_overhead(double seconds, std::vector<double>& times) {
  for (double& time : times) time += seconds;
}

void add_overhead(double seconds, schedules::PassTimes& times) {
  for (std::vector<double>& stage_seconds : times.of_stage) add_overhead(seconds, stage_seconds);
  add_overhead(seconds, times.fused);
}

void complete_times(schedules::PassTimes& times) {
  using schedules::PassKind;
  const auto& input = times[PassKind::input_grad];
  const auto& weight = times[PassKind::weight_grad];
  times[PassKind::recompute] = times[PassKind::forward];
  auto& backward = times[PassKind::backward];
  backward.resize(input.size());
  std::ranges::transform(input, weight, backward.begin(), std::plus<>());
}

std::vector<Activations> stage_activations(const config::Activation& options, const Routes& routes,
                                           std::uint32_t devices, std::uint32_t slices) {
  std::vector<Activations> result;
  const std::uint32_t chunks_of_part = routes.stages() / devices;
  const bool is_even = routes.stages() % devices == 0;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    const std::uint32_t device = routes.device(stage, 0);
    const std::uint32_t chunk = chunks_of_part == 1 ? 0 : routes.chunk(stage, 0);
    const auto part = [&](const config::DeviceBytes& bytes) {
      if (!is_even) return bytes.at(device) / routes.stages() * devices / slices;
      return chunk_share(bytes.at(device), chunk, chunks_of_part) / slices;
    };
    const std::uint64_t by_input = part(options.released_by_input_grad);
    const std::uint64_t by_weight = part(options.released_by_weight_grad);
    result.push_back({.held = by_input + by_weight, .released_by_input_grad = by_input});
  }
  return result;
}

std::vector<DeviceState> device_states(const config::State& options, const Routes& routes,
                                       std::uint32_t devices) {
  std::vector<DeviceState> states(devices);
  // Pairs of a device that holds a stage and the stage's device on the first route.
  std::set<std::pair<std::uint32_t, std::uint32_t>> counted;
  for (std::uint32_t route = 0; route < routes.count(); ++route)
    for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
      if (!routes.has_weights(stage)) continue;
      const std::uint32_t holder = routes.device(stage, route);
      const std::uint32_t part = routes.device(stage, 0);
      if (!counted.insert({holder, part}).second) continue;
      states[holder].weights += options.weights.at(part);
      states[holder].gradients += options.gradients.at(part);
      states[holder].optimizer += options.optimizer.at(part);
    }
  return states;
}

}  // namespace pipewright::workload
