#include "sim/workload/plan/searched_schedule.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "schedules/search/bound.hpp"
#include "schedules/search/search.hpp"
#include "sim/config/text/value.hpp"
#include "sim/workload/model/state.hpp"

namespace pipewright::workload {
namespace {

using schedules::ActivationMemory;
using schedules::Pipeline;
using schedules::Routes;
using Bytes = std::int64_t;

Bytes to_bytes(double count) { return static_cast<Bytes>(std::min(count, 4e18)); }

// Returns the bytes that a device has in use all the time, whichever passes run.
double static_bytes(const DeviceState& state) {
  return static_cast<double>(state.weights) + static_cast<double>(state.gradients) +
         static_cast<double>(state.optimizer) + static_cast<double>(state.buffers) +
         static_cast<double>(state.allowance);
}

// Adds the activation memory of a stage. The search has one number for the memory from F to I and
// another for that from I to W: the largest that the stage holds in these times, including what
// fragmentation wastes.
void add_stage(const Activations& stage, double fragmentation, ActivationMemory& memory) {
  const double factor = 1 + fragmentation;
  const double after = static_cast<double>(stage.held) -
                       static_cast<double>(stage.released_by_input_grad) +
                       static_cast<double>(stage.made_by_input_grad);
  const double before = static_cast<double>(stage.held) + static_cast<double>(stage.logits);
  const double held = std::max(before, after) * factor;
  memory.held.push_back(to_bytes(held));
  memory.released_by_input_grad.push_back(to_bytes(held - after * factor));
}

// Returns the bytes of the weights of the largest stages of a device that may be gathered at a
// time; 0 if gathered weights count as static memory.
double unsharded_bytes(const config::Scenario& scenario, const StageCosts& costs,
                       const Routes& routes, std::uint32_t device) {
  const std::vector<schedules::UnshardWindow> windows = unshard_windows(scenario.parallel, routes);
  if (windows.empty() || costs.traffic.empty()) return 0;
  std::vector<double> bytes;
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
    if (routes.device(stage, 0) == device)
      bytes.push_back(static_cast<double>(costs.gathered_whole(stage)));
  std::ranges::sort(bytes, std::ranges::greater());
  bytes.resize(std::min<std::size_t>(bytes.size(), windows[device].resident));
  return std::accumulate(bytes.begin(), bytes.end(), 0.0);
}

ActivationMemory memory_in_bytes(const config::Scenario& scenario, const StageCosts& costs,
                                 const Routes& routes, const std::vector<std::uint64_t>& limits) {
  ActivationMemory memory;
  std::vector<double> available(limits.begin(), limits.end());
  std::vector<double> working(limits.size());
  for (std::uint32_t stage = 0; stage < routes.stages(); ++stage) {
    add_stage(costs.activations[stage], scenario.model ? scenario.training.fragmentation : 0,
              memory);
    double& device_working = working[routes.device(stage, 0)];
    const double gathered = costs.gathered.empty() ? 0 : static_cast<double>(costs.gathered[stage]);
    device_working =
        std::max(device_working, static_cast<double>(costs.activations[stage].working) + gathered);
  }
  for (std::size_t device = 0; device < available.size(); ++device)
    memory.limit.push_back(
        to_bytes(available[device] - static_bytes(costs.state[device]) - working[device] -
                 unsharded_bytes(scenario, costs, routes, static_cast<std::uint32_t>(device))));
  return memory;
}

// Returns a memory limit that is counted in chunks instead of bytes: as many microbatches per
// device as 1F1B has in flight.
ActivationMemory memory_in_microbatches(std::uint32_t devices, std::uint32_t microbatches,
                                        const Routes& routes) {
  ActivationMemory memory;
  memory.held.assign(routes.stages(), 1);
  memory.released_by_input_grad.assign(routes.stages(), 0);
  memory.limit.assign(devices, Bytes{std::min(devices, microbatches)} * routes.stages() / devices);
  return memory;
}

}  // namespace

schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec,
                                        const CostsOfPlacement& costs_of,
                                        const std::vector<std::uint64_t>& capacity,
                                        const HopOnPlacement& hop) {
  const std::uint32_t devices = scenario.devices.value;
  std::vector<std::uint64_t> limits = capacity;
  if (spec.memory_limit) limits.assign(devices, spec.memory_limit->value);
  const bool has_limits =
      limits.size() == devices &&
      std::ranges::all_of(limits, [](std::uint64_t limit) { return limit > 0; });
  const std::uint32_t microbatches = scenario.microbatches.value;
  const auto pipeline = [=, &scenario](const Routes& routes) -> std::optional<Pipeline> {
    StageCosts costs;
    try {
      costs = costs_of(routes);
    } catch (const config::Error&) {
      return std::nullopt;
    }
    const bool takes_memory = std::ranges::all_of(
        costs.activations, [](const Activations& stage) { return stage.held > 0; });
    Pipeline result{.routes = routes,
                    .devices = devices,
                    .microbatches = microbatches,
                    .times = costs.times,
                    .hop = hop ? hop(routes, costs.boundary_bytes) : scenario.p2p_time,
                    .memory = has_limits && takes_memory
                                  ? memory_in_bytes(scenario, costs, routes, limits)
                                  : memory_in_microbatches(devices, microbatches, routes),
                    .recomputed = {}};
    return result;
  };
  return {.devices = devices, .microbatches = microbatches, .pipeline = pipeline};
}

schedules::Schedule searched_schedule(const config::ScheduleSpec& spec,
                                      const schedules::SearchRequest& request) {
  try {
    schedules::Schedule schedule =
        schedules::search(request, [](const schedules::SearchProgress&) { return true; }).schedule;
    schedule.name = config::searched;
    return schedule;
  } catch (const schedules::Error& error) {
    throw config::Error(
        config::locate(spec.origin, fmt::format("{}: {}", config::searched, error.what())));
  }
}

std::optional<LeastMemory> least_memory(const schedules::SearchRequest& request,
                                        const std::vector<std::uint64_t>& capacity) {
  if (capacity.size() != request.devices || std::ranges::find(capacity, 0U) != capacity.end())
    return std::nullopt;
  std::optional<LeastMemory> roomiest;
  double best_spare = -std::numeric_limits<double>::infinity();
  for (const Routes& routes : schedules::searched_placements(request.devices)) {
    const std::optional<Pipeline> pipeline = request.pipeline(routes);
    if (!pipeline) continue;
    // The difference between a device's capacity and the pipeline's limit is in use all the time,
    // so it counts as needed.
    const std::vector<Bytes> single_microbatch = schedules::least_memory(*pipeline);
    LeastMemory tightest;
    double smallest_spare = std::numeric_limits<double>::infinity();
    for (std::uint32_t device = 0; device < request.devices; ++device) {
      const double spare =
          static_cast<double>(pipeline->memory.limit[device] - single_microbatch[device]) /
          static_cast<double>(capacity[device]);
      if (spare >= smallest_spare) continue;
      smallest_spare = spare;
      tightest = {
          .bytes = capacity[device] - static_cast<std::uint64_t>(pipeline->memory.limit[device] -
                                                                 single_microbatch[device]),
          .capacity = capacity[device]};
    }
    if (smallest_spare <= best_spare) continue;
    best_spare = smallest_spare;
    roomiest = tightest;
  }
  return roomiest;
}

}  // namespace pipewright::workload
