#include "sim/workload/plan/schedule_costs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "schedules/search/search.hpp"
#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/model_costs.hpp"
#include "sim/workload/model/stage_times.hpp"
#include "sim/workload/plan/modelled.hpp"
#include "sim/workload/plan/searched_schedule.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

constexpr double max_pass_seconds = 1e9;
constexpr double max_buckets = 1e5;  // per stage

// Returns where a key is written in the scenario's file; if it is not given, where the model is or
// where the scenario begins.
config::Origin key_origin(const config::Scenario& scenario, std::string_view map,
                          std::string_view key) {
  const config::Value* const outer = config::find(scenario.tree, map);
  const config::Value* const value = outer != nullptr ? config::find(*outer, key) : nullptr;
  if (value != nullptr) return value->origin;
  return scenario.model ? scenario.model->origin : scenario.tree.origin;
}

// Formats bytes for messages, such as "44.1 kB".
std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 6> units{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

void check_seconds(const config::Scenario& scenario, const StageCosts& costs) {
  double longest = 0;
  const auto visit = [&](const std::vector<double>& seconds) {
    for (const double value : seconds)
      longest = std::isfinite(value) ? std::max(longest, value) : HUGE_VAL;
  };
  for (const std::vector<double>& stage_seconds : costs.times.of_stage) visit(stage_seconds);
  visit(costs.optimizer_seconds);
  if (longest <= max_pass_seconds) return;
  throw config::Error(
      scenario.model ? scenario.model->origin : scenario.tree.origin,
      fmt::format("a pass of a stage, or its optimizer step, would take {:.3g} s", longest))
      .suggest(
          "the model is too large, or its GPU too slow: check the GPU's flops, bandwidth and "
          "efficiencies")
      .allow("at most 1e9 s");
}

void check_buckets(const config::Scenario& scenario, const StageCosts& costs) {
  const std::uint32_t ranks = scenario.parallel.dp.value * scenario.parallel.cp.value;
  if (ranks <= 1) return;
  const auto bucket = static_cast<double>(config::bucket_bytes(scenario.communication, ranks));
  double largest = 0;
  for (const StageTraffic& stage : costs.traffic)
    largest = std::max(
        largest, static_cast<double>(stage.parameters) * scenario.communication.gradient_bytes);
  if (largest <= max_buckets * bucket) return;
  constexpr double max_unitless = 1000;  // bytes; so small a number probably lacks its unit
  throw config::Error(
      key_origin(scenario, "communication", "bucket"),
      fmt::format("communication.bucket is {}, and the {} of gradients of a stage make {:.0f} "
                  "buckets, more than the {:.0f} that are simulated",
                  bytes_text(bucket), bytes_text(largest), std::ceil(largest / bucket),
                  max_buckets))
      .suggest_name(bucket < max_unitless ? fmt::format("{:.0f} MB", bucket) : "")
      .allow(fmt::format("{} or more", bytes_text(1.005 * largest / max_buckets)));
}

schedules::PassTimes scenario_times(const config::Scenario& scenario, const Schedule& schedule) {
  schedules::PassTimes times;
  set_vocabulary_times(scenario, schedule, times);
  times[PassKind::forward] = stage_times(scenario.forward_times, "forward_times", schedule);
  times[PassKind::recompute] = times[PassKind::forward];
  times.overlap = scenario.overlap;
  if (scenario.fused_times)
    times.fused = stage_times(*scenario.fused_times, "fused_times", schedule);
  if (scenario.backward_times && !scenario.input_grad_times) {
    if (splits_backward(schedule))
      throw config::Error(scenario.backward_times->origin,
                          fmt::format("{} runs the two halves of a backward pass separately, but "
                                      "backward_times covers both",
                                      schedule.name))
          .suggest("give input_grad_times and weight_grad_times instead");
    times[PassKind::backward] = stage_times(*scenario.backward_times, "backward_times", schedule);
    return times;
  }
  times[PassKind::input_grad] =
      stage_times(scenario.input_grad_times.value(), "input_grad_times", schedule);
  times[PassKind::weight_grad] =
      stage_times(scenario.weight_grad_times.value(), "weight_grad_times", schedule);
  complete_times(times);
  if (scenario.backward_times)
    times[PassKind::backward] = stage_times(*scenario.backward_times, "backward_times", schedule);
  return times;
}

}  // namespace

schedules::PassTimes pass_times(const config::Scenario& scenario, const Schedule& schedule) {
  schedules::PassTimes times = scenario_times(scenario, schedule);
  add_overhead(scenario.pass_overhead, times);
  return times;
}

namespace {

// Returns by device the number of stages among which the gradients that a scenario gives are
// divided.
std::vector<std::uint32_t> parts_with_weights(const Schedule& schedule) {
  if (!schedule.routes.divides_layers())
    return std::vector<std::uint32_t>(schedule.devices, schedule.chunks);
  std::vector<std::uint32_t> parts(schedule.devices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    if (schedule.routes.has_weights(stage)) ++parts[schedule.routes.device(stage, 0)];
  return parts;
}

StageCosts scenario_stage_costs(const config::Scenario& scenario, const Schedule& schedule) {
  StageCosts costs;
  costs.times = pass_times(scenario, schedule);
  costs.boundary_bytes = scenario.boundary_tensor.value_or(0) / schedule.slices;
  costs.activations =
      stage_activations(scenario.activation, schedule.routes, schedule.devices, schedule.slices);
  costs.state = device_states(scenario.state, schedule.routes, schedule.devices);
  if (scenario.parallel.dp.value * scenario.parallel.cp.value == 1) return costs;
  // The scenario gives the bytes of gradients on a device; the parameters that are reduced between
  // replicas follow from them.
  costs.traffic.resize(schedule.stages());
  const std::vector<std::uint32_t> parts = parts_with_weights(schedule);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
    if (!schedule.routes.has_weights(stage)) continue;
    const std::uint32_t device = schedule.routes.device(stage, 0);
    costs.traffic[stage].parameters =
        scenario.state.gradients.at(device) / scenario.communication.gradient_bytes / parts[device];
  }
  // The kernels of a pass are unknown, so passes slow down in proportion to the processors that
  // collectives take, as kernels with many tiles do.
  if (scenario.gpu)
    for (std::vector<double>& factors : costs.overlap_slowdown)
      factors.assign(schedule.stages(),
                     static_cast<double>(scenario.gpu->processors) /
                         processors_beside_collectives(*scenario.gpu, scenario.communication));
  return costs;
}

void check_sms(const config::Scenario& scenario, const config::Gpu& gpu) {
  const std::uint32_t sms = scenario.communication.sms.value_or(0);
  if (sms < gpu.processors) return;
  throw config::Error(
      key_origin(scenario, "communication", "sms"),
      fmt::format("communication.sms is {}, but the GPU has {} SMs", sms, gpu.processors))
      .allow(fmt::format("0 to {}", gpu.processors - 1));
}

}  // namespace

void check_memory_can_be_counted(const Schedule& schedule, const StageCosts& costs) {
  constexpr double max_bytes = 9e18;  // below 2^63 bytes
  std::vector<double> peaks;          // computed only if all microbatches together exceed the limit
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    double microbatch = 0;
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
      if (schedule.routes.device(stage, 0) == device)
        microbatch += static_cast<double>(costs.activations[stage].held) * schedule.slices;
    const DeviceState& state = costs.state[device];
    const double state_bytes = static_cast<double>(state.weights) * schedule.weight_versions +
                               static_cast<double>(state.gradients) +
                               static_cast<double>(state.optimizer);
    // Upper bound of the microbatches in flight: all of them, on both routes if there are two. If
    // there are more, each stage but attention is on one device, and all devices run equally many.
    const double microbatches = 2.0 * schedule.total_microbatches();
    if (microbatches * microbatch + state_bytes <= max_bytes) continue;
    if (peaks.empty()) peaks = schedules::peak_in_flight(schedule);
    const double bytes = peaks[device] * microbatch + state_bytes;
    if (bytes > max_bytes)
      throw config::Error(
          fmt::format("{}: device {} would hold {:.3g} bytes", schedule.name, device, bytes))
          .allow(fmt::format("at most {:.0e}", max_bytes));
  }
}

void check_whole_layers(const config::Scenario& scenario, std::string_view schedule,
                        const schedules::Routes& routes) {
  if (!scenario.model || !routes.divides_layers()) return;
  const auto spec = std::ranges::find(scenario.schedules, schedule, &config::ScheduleSpec::name);
  throw config::Error(
      spec == scenario.schedules.end() ? scenario.model->origin : spec->origin,
      fmt::format("{} divides layers into attention and the matrices around it, and the times, "
                  "memory and boundary tensors of these parts are not modelled",
                  schedule))
      .allow(
          "a scenario without model, with forward_times and backward_times of each stage, or a "
          "schedule whose stages are whole layers");
}

void check_limits(const config::Scenario& scenario, const StageCosts& costs) {
  check_seconds(scenario, costs);
  check_buckets(scenario, costs);
}

StageCosts shared_costs(const config::Scenario& scenario, const Schedule& schedule,
                        const Gpus& gpus) {
  for (const config::Gpu& gpu : gpus) check_sms(scenario, gpu);
  if (scenario.gpu) check_sms(scenario, *scenario.gpu);
  check_whole_layers(scenario, schedule.name, schedule.routes);
  StageCosts costs = scenario.model ? modelled_costs(scenario, schedule, gpus)
                                    : scenario_stage_costs(scenario, schedule);
  check_limits(scenario, costs);
  return costs;
}

Schedule on_placement(const config::Scenario& scenario, const schedules::Routes& routes,
                      const std::string& name) {
  const auto devices = scenario.devices.value;
  return {.name = name,
          .devices = devices,
          .chunks = std::max(1U, routes.count() * routes.stages() / devices),
          .microbatches = scenario.microbatches.value,
          .routes = routes};
}

StageCosts placement_costs(const config::Scenario& scenario, const schedules::Routes& routes,
                           const Gpus& gpus, const std::string& name) {
  return shared_costs(scenario, on_placement(scenario, routes, name), gpus);
}

namespace {

// Checks that the scenario fits one of the placements that the search tries. Throws the error of
// the last one if it fits none.
void check_any_placement(const config::Scenario& scenario, const Gpus& gpus,
                         const std::string& name) {
  std::optional<config::Error> last_error;
  for (const auto& routes : schedules::searched_placements(scenario.devices.value)) try {
      placement_costs(scenario, routes, gpus, name);
      return;
    } catch (const config::Error& error) {
      last_error = error;
    }
  throw config::Error(last_error.value());
}

}  // namespace

schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec, const Gpus& gpus,
                                        const NetworkEstimate& estimate) {
  if (!scenario.model && !scenario.input_grad_times)
    throw config::Error(spec.origin, "'searched' runs the two halves of a backward pass separately")
        .suggest("give input_grad_times and weight_grad_times instead of backward_times");
  const auto costs_of = [=, &scenario](const schedules::Routes& routes) {
    StageCosts costs = placement_costs(scenario, routes, gpus, spec.name);
    if (estimate.add_waits) estimate.add_waits(routes, costs);
    return costs;
  };
  check_any_placement(scenario, gpus, spec.name);
  std::vector<std::uint64_t> capacity = estimate.memory;
  if (capacity.empty())
    for (const config::Gpu& gpu : gpus) capacity.push_back(gpu.capacity());
  return search_request(scenario, spec, costs_of, capacity, estimate.hop);
}

}  // namespace pipewright::workload
