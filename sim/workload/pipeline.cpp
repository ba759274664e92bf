#include "sim/workload/pipeline.hpp"

#include <algorithm>
#include <cmath>

#include "schedules/search/bound.hpp"
#include "sim/workload/by_stage.hpp"

namespace pipewright::workload {
namespace {

using schedules::ActivationMemory;
using schedules::PassKind;
using schedules::Routes;
using Unit = MemoryLimit::Unit;

constexpr double max_bytes = 4e18;  // the sum of two stays below 2^63

std::vector<double> state_bytes(const config::Scenario& scenario, const Routes& routes) {
  std::vector<double> bytes;
  for (const DeviceState& state : device_states(scenario.state, routes, scenario.devices.value))
    bytes.push_back(static_cast<double>(state.weights) + static_cast<double>(state.gradients) +
                    static_cast<double>(state.optimizer));
  return bytes;
}

// Returns the activation memory of each stage and the limit of each device: in bytes, or counted in
// chunks if the limit is a number of microbatches.
ActivationMemory memory_of(const config::Scenario& scenario, const Routes& routes,
                           const MemoryLimit& limit) {
  const std::uint32_t devices = scenario.devices.value;
  ActivationMemory memory;
  if (limit.unit == Unit::microbatches) {
    constexpr double rounding = 1e-9;
    const double chunks = static_cast<double>(routes.stages()) / devices;
    const double within = std::min(limit.value, static_cast<double>(scenario.microbatches.value));
    memory.held.assign(routes.stages(), 1);
    memory.released_by_input_grad.assign(routes.stages(), 0);
    memory.limit.assign(devices, static_cast<std::int64_t>(std::floor(within * chunks + rounding)));
    return memory;
  }
  for (const Activations& stage : stage_activations(scenario.activation, routes, devices, 1)) {
    if (static_cast<double>(stage.held) > max_bytes)
      throw config::Error("activation: the bytes of a microbatch are too large to count");
    memory.held.push_back(static_cast<std::int64_t>(stage.held));
    memory.released_by_input_grad.push_back(
        static_cast<std::int64_t>(stage.released_by_input_grad));
  }
  for (const double state : state_bytes(scenario, routes))
    memory.limit.push_back(
        static_cast<std::int64_t>(std::clamp(std::floor(limit.value - state), 0.0, max_bytes)));
  return memory;
}

void check_activation(const config::Scenario& scenario) {
  const config::DeviceBytes& bytes = scenario.activation.per_microbatch;
  if (!bytes.has_values() ||
      std::ranges::any_of(bytes.values, [](std::uint64_t count) { return count == 0; }))
    throw config::Error(
        "a memory limit in bytes needs the size of a microbatch's activations on a device: "
        "give activation.per_microbatch (--set activation.per_microbatch=\"2 GiB\"), or set a "
        "limit in "
        "microbatches");
}

}  // namespace

std::optional<schedules::Pipeline> make_pipeline(const config::Scenario& scenario,
                                                 const Routes& routes, const MemoryLimit& limit,
                                                 double hop) {
  if (limit.unit == Unit::bytes) check_activation(scenario);
  if (!scenario.input_grad_times || !scenario.weight_grad_times)
    throw config::Error(
        scenario.backward_times ? scenario.backward_times->origin : config::Origin{},
        "backward_times covers both halves of a backward pass, but the search runs them separately")
        .suggest(
            "give input_grad_times and weight_grad_times (--input-grad-times and "
            "--weight-grad-times) instead");
  const std::uint32_t devices = scenario.devices.value;
  const auto forward = stage_times(scenario.forward_times.value, routes, devices, 1);
  const auto input = stage_times(scenario.input_grad_times->value, routes, devices, 1);
  const auto weight = stage_times(scenario.weight_grad_times->value, routes, devices, 1);
  if (!forward || !input || !weight) return std::nullopt;

  schedules::Pipeline pipeline{.routes = routes,
                               .devices = devices,
                               .microbatches = scenario.microbatches.value,
                               .times = {},
                               .hop = hop,
                               .memory = memory_of(scenario, routes, limit),
                               .recomputed = {}};
  pipeline.times[PassKind::forward] = *forward;
  pipeline.times[PassKind::input_grad] = *input;
  pipeline.times[PassKind::weight_grad] = *weight;
  complete_times(pipeline.times);
  if (scenario.backward_times)
    if (auto whole = stage_times(scenario.backward_times->value, routes, devices, 1))
      pipeline.times[PassKind::backward] = std::move(*whole);
  add_overhead(scenario.pass_overhead, pipeline.times);
  return pipeline;
}

double least_limit(const config::Scenario& scenario, Unit unit) {
  if (unit == Unit::microbatches) return 1;
  check_activation(scenario);
  // Any placement will do here, since a device needs the same memory for weights, gradients and
  // optimizer on each.
  const Routes routes = Routes::looped(scenario.devices.value, 1);
  const std::vector<std::int64_t> activations =
      schedules::least_memory({.routes = routes,
                               .devices = scenario.devices.value,
                               .microbatches = 1,
                               .times = {},
                               .memory = memory_of(scenario, routes, {.unit = unit, .value = 0}),
                               .recomputed = {}});
  const std::vector<double> state = state_bytes(scenario, routes);
  double limit = 0;
  for (std::size_t device = 0; device < state.size(); ++device)
    limit = std::max(limit, state[device] + static_cast<double>(activations[device]));
  return limit;
}

}  // namespace pipewright::workload
