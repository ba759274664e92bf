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
#include "sim/workload/plan/modelled.hpp"
#include "sim/workload/plan/searched_schedule.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

constexpr double most_seconds = 1e9;
constexpr double most_buckets = 1e5;  // of a stage

// Where a key was given, or the model or the scenario as a whole.
config::Origin origin_of(const config::Scenario& scenario, std::string_view map,
                         std::string_view key) {
  const config::Value* const outer = config::find(scenario.tree, map);
  const config::Value* const given = outer != nullptr ? config::find(*outer, key) : nullptr;
  if (given != nullptr) return given->origin;
  return scenario.model ? scenario.model->origin : scenario.tree.origin;
}

// "44.1 kB", for messages.
std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 6> units{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

void check_seconds(const config::Scenario& scenario, const StageCosts& costs) {
  double most = 0;
  const auto see = [&](const std::vector<double>& seconds) {
    for (const double each : seconds) most = std::isfinite(each) ? std::max(most, each) : HUGE_VAL;
  };
  for (const std::vector<double>& of_stage : costs.times.of_stage) see(of_stage);
  see(costs.optimizer_seconds);
  if (most <= most_seconds) return;
  throw config::Error(config::locate(
      scenario.model ? scenario.model->origin : scenario.tree.origin,
      fmt::format("a pass of a stage, or its optimizer, would take {:.3g} s, and 1e9 s is the most "
                  "that is simulated; the model is too large, or its GPU too slow: look at the "
                  "GPU's flops, bandwidth and efficiencies",
                  most)));
}

void check_buckets(const config::Scenario& scenario, const StageCosts& costs) {
  const std::uint32_t copies = scenario.parallel.dp.value * scenario.parallel.cp.value;
  if (copies <= 1) return;
  const auto bucket = static_cast<double>(config::bucket_bytes(scenario.communication, copies));
  double most = 0;
  for (const StageTraffic& stage : costs.traffic)
    most = std::max(most,
                    static_cast<double>(stage.parameters) * scenario.communication.gradient_bytes);
  if (most <= most_buckets * bucket) return;
  constexpr double bare = 1000;  // bytes: so few are a number without its unit
  const std::string meant =
      bucket < bare ? fmt::format("did you mean {:.0f} MB? ", bucket) : std::string();
  throw config::Error(config::locate(
      origin_of(scenario, "communication", "bucket"),
      fmt::format("communication.bucket is {}, and a stage has {} of gradients, which makes {:.0f} "
                  "buckets, more than the {:.0f} that are simulated; {}allowed: {} or more",
                  bytes_text(bucket), bytes_text(most), std::ceil(most / bucket), most_buckets,
                  meant, bytes_text(1.005 * most / most_buckets))));
}

schedules::PassTimes given_times(const config::Scenario& scenario, const Schedule& schedule) {
  schedules::PassTimes times;
  times[PassKind::forward] = stage_times(scenario.forward_times, "forward_times", schedule);
  times[PassKind::recompute] = times[PassKind::forward];
  times.overlap = scenario.overlap;
  if (scenario.fused_times)
    times.fused = stage_times(*scenario.fused_times, "fused_times", schedule);
  if (scenario.backward_times && !scenario.input_grad_times) {
    if (splits_backward(schedule))
      throw config::Error(config::locate(
          scenario.backward_times->origin,
          fmt::format("{} runs the two halves of a backward pass apart, and backward_times is for "
                      "both at once; give input_grad_times and weight_grad_times instead",
                      schedule.name)));
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
  schedules::PassTimes times = given_times(scenario, schedule);
  add_overhead(scenario.pass_overhead, times);
  return times;
}

namespace {

StageCosts given_stage_costs(const config::Scenario& scenario, const Schedule& schedule) {
  StageCosts costs;
  costs.times = pass_times(scenario, schedule);
  costs.boundary_bytes = scenario.boundary_tensor.value_or(0) / schedule.slices;
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
  // Which kernels a pass has is unknown, so all are as those whose tiles are many.
  if (scenario.gpu)
    for (std::vector<double>& of_stage : costs.overlap_slowdown)
      of_stage.assign(schedule.stages(),
                      static_cast<double>(scenario.gpu->processors) /
                          processors_beside_collectives(*scenario.gpu, scenario.communication));
  return costs;
}

void check_sms(const config::Scenario& scenario, const config::Gpu& gpu) {
  const std::uint32_t sms = scenario.communication.sms.value_or(0);
  if (sms < gpu.processors) return;
  throw config::Error(config::locate(
      origin_of(scenario, "communication", "sms"),
      fmt::format("communication.sms is {}, and the GPU has {} in all; allowed: 0 to {}", sms,
                  gpu.processors, gpu.processors - 1)));
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

void check_limits(const config::Scenario& scenario, const StageCosts& costs) {
  check_seconds(scenario, costs);
  check_buckets(scenario, costs);
}

StageCosts shared_costs(const config::Scenario& scenario, const Schedule& schedule,
                        const Gpus& gpus) {
  for (const config::Gpu& gpu : gpus) check_sms(scenario, gpu);
  if (scenario.gpu) check_sms(scenario, *scenario.gpu);
  StageCosts costs = scenario.model ? modelled_costs(scenario, schedule, gpus)
                                    : given_stage_costs(scenario, schedule);
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

// That some placement of a search can be, or else why not.
void check_some_placement(const config::Scenario& scenario, const Gpus& gpus,
                          const std::string& name) {
  std::optional<config::Error> why_not;
  for (const auto& routes : schedules::searched_placements(scenario.devices.value)) try {
      placement_costs(scenario, routes, gpus, name);
      return;
    } catch (const config::Error& error) {
      why_not = error;
    }
  throw config::Error(why_not.value());
}

}  // namespace

schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec, const Gpus& gpus,
                                        const NetworkEstimate& estimate) {
  if (!scenario.model && !scenario.input_grad_times)
    throw config::Error(config::locate(
        spec.origin,
        "searched looks for an order in which the two halves of a backward pass run apart; give "
        "input_grad_times and weight_grad_times instead of backward_times"));
  const auto costs_of = [=, &scenario](const schedules::Routes& routes) {
    StageCosts costs = placement_costs(scenario, routes, gpus, spec.name);
    if (estimate.add_waits) estimate.add_waits(routes, costs);
    return costs;
  };
  check_some_placement(scenario, gpus, spec.name);
  std::vector<std::uint64_t> capacity = estimate.memory;
  if (capacity.empty())
    for (const config::Gpu& gpu : gpus) capacity.push_back(gpu.capacity());
  return search_request(scenario, spec, costs_of, capacity, estimate.hop);
}

}  // namespace pipewright::workload
