#include "sim/workload/plan/modelled.hpp"

#include <initializer_list>
#include <optional>
#include <utility>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/activation_memory.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

// What was measured holds the collectives within passes of those kinds.
void drop_calls(StageCosts& costs, std::initializer_list<PassKind> kinds) {
  for (StageTraffic& stage : costs.traffic)
    for (const PassKind kind : kinds) stage[kind].clear();
}

// The part of F that backward passes make again takes as many times longer as F does, and holds its
// collectives as F does.
void recompute_as_measured(const ModelJob& job, const Schedule& schedule,
                           const std::vector<double>& measured, StageCosts& costs) {
  if (job.training.recompute == config::Recompute{}) return;
  config::Partition same{.rule = config::Partition::Rule::layout};
  for (const StageParts& stage : model_partition(job, schedule.routes)) {
    same.layers.push_back(stage.layers.count);
    same.mtp.push_back(stage.mtp);
  }
  config::Training keeps_all = job.training;
  keeps_all.recompute = {};
  StageCosts without = model_costs({.model = job.model,
                                    .training = keeps_all,
                                    .parallel = job.parallel,
                                    .partition = same,
                                    .gpus = job.gpus,
                                    .communication = job.communication,
                                    .measured = job.measured},
                                   schedule.routes, schedule.slices);
  for (const PassKind kind : {PassKind::input_grad, PassKind::backward})
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
      double& seconds = costs.times[kind][stage];
      const double plain = without.times[kind][stage];
      const double longer = measured[stage] / costs.times[PassKind::forward][stage];
      seconds = plain + (seconds - plain) * longer;
      costs.traffic[stage][kind] = std::move(without.traffic[stage][kind]);
    }
}

void take_forward(const config::Scenario& scenario, const ModelJob& job, const Schedule& schedule,
                  StageCosts& costs) {
  if (scenario.forward_times.value.empty()) return;
  const std::vector<double> measured =
      stage_times(scenario.forward_times, "forward_times", schedule);
  if (!scenario.backward_times && !scenario.input_grad_times)
    recompute_as_measured(job, schedule, measured, costs);
  costs.times[PassKind::forward] = measured;
  add_overhead(scenario.pass_overhead, costs.times[PassKind::forward]);
  costs.times[PassKind::recompute] = costs.times[PassKind::forward];
  drop_calls(costs, {PassKind::forward, PassKind::recompute});
}

// A whole backward goes to I and W as the model shares it.
void take_backward(const config::Scenario& scenario, const Schedule& schedule, StageCosts& costs) {
  auto& input = costs.times[PassKind::input_grad];
  auto& weight = costs.times[PassKind::weight_grad];
  auto& whole = costs.times[PassKind::backward];
  if (!scenario.backward_times && !scenario.input_grad_times) return;
  const auto plain = whole;
  if (scenario.backward_times)
    whole = stage_times(*scenario.backward_times, "backward_times", schedule);
  if (scenario.input_grad_times) {
    input = stage_times(*scenario.input_grad_times, "input_grad_times", schedule);
    weight = stage_times(scenario.weight_grad_times.value(), "weight_grad_times", schedule);
  }
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
    if (!scenario.backward_times) whole[stage] = input[stage] + weight[stage];
    if (scenario.input_grad_times) continue;
    input[stage] *= whole[stage] / plain[stage];
    weight[stage] *= whole[stage] / plain[stage];
  }
  for (std::vector<double>* const times : {&input, &weight, &whole})
    add_overhead(scenario.pass_overhead, *times);
  drop_calls(costs, {PassKind::input_grad, PassKind::weight_grad, PassKind::backward});
}

// What a microbatch is said to leave on a device is all that it leaves there, logits included.
void take_memory(const config::Scenario& scenario, const Schedule& schedule, StageCosts& costs) {
  const config::State& state = scenario.state;
  const auto given = device_states(state, schedule.routes, schedule.devices);
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    DeviceState& held = costs.state[device];
    if (state.weights.has_values()) held.weights = given[device].weights;
    if (state.gradients.has_values()) held.gradients = given[device].gradients;
    if (state.optimizer.has_values()) held.optimizer = given[device].optimizer;
  }
  if (!scenario.activation.per_microbatch.has_values()) return;
  const auto stages =
      stage_activations(scenario.activation, schedule.routes, schedule.devices, schedule.slices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    costs.activations[stage] = {.held = stages[stage].held,
                                .released_by_input_grad = stages[stage].released_by_input_grad,
                                .working = costs.activations[stage].working};
}

// A stage that recomputes keeps its input, of which what one GPU is sent may be a part.
void take_boundary(std::uint64_t bytes, StageCosts& costs) {
  if (costs.boundary_bytes > 0)
    for (std::uint64_t& input : costs.input_bytes) input = input / costs.boundary_bytes * bytes;
  costs.boundary_bytes = bytes;
}

}  // namespace

ModelJob model_job(const config::Scenario& scenario, const Gpus& gpus) {
  return {
      .model = scenario.model.value().value,
      .training = scenario.training,
      .parallel = scenario.parallel,
      .partition = scenario.partition,
      .gpus = gpus,
      .communication = scenario.communication,
      .measured = scenario.layer_times ? std::optional(scenario.layer_times->value) : std::nullopt};
}

bool recomputes_for_nothing(const config::Scenario& scenario) {
  if (!scenario.model || scenario.training.recompute == config::Recompute{}) return false;
  const config::Model& model = scenario.model->value;
  return frees_nothing(
      {model, scenario.training, sizes_of(model, scenario.training, scenario.parallel)});
}

StageCosts modelled_costs(const config::Scenario& scenario, const Schedule& schedule,
                          const Gpus& gpus) {
  const ModelJob job = model_job(scenario, gpus);
  StageCosts costs = model_costs(job, schedule.routes, schedule.slices);
  take_forward(scenario, job, schedule, costs);
  take_backward(scenario, schedule, costs);
  costs.times.overlap = scenario.overlap;
  if (scenario.fused_times) {
    costs.times.fused = stage_times(*scenario.fused_times, "fused_times", schedule);
    add_overhead(scenario.pass_overhead, costs.times.fused);
  }
  take_memory(scenario, schedule, costs);
  if (scenario.boundary_tensor) take_boundary(*scenario.boundary_tensor / schedule.slices, costs);
  return costs;
}

}  // namespace pipewright::workload
