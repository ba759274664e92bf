#include "sim/workload/plan/modelled.hpp"

#include <cmath>
#include <initializer_list>
#include <numbers>
#include <optional>
#include <utility>

#include "sim/workload/by_stage.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/stage_partition.hpp"

namespace pipewright::workload {
namespace {

using schedules::PassKind;
using schedules::Schedule;

// Removes the collectives within passes of these kinds, because the measured times of the passes
// include them.
void drop_calls(StageCosts& costs, std::initializer_list<PassKind> kinds) {
  for (StageTraffic& stage : costs.traffic)
    for (const PassKind kind : kinds) stage[kind].clear();
}

// Scales the time of recomputing F in backward passes by the ratio of the measured to the modelled
// time of F. Removes the collectives of the recomputation, which the measured time includes.
void scale_recomputation(const ModelJob& job, const Schedule& schedule,
                         const std::vector<double>& measured_seconds, StageCosts& costs) {
  if (job.training.recompute == config::Recompute{}) return;
  config::Partition same_partition{.rule = config::Partition::Rule::layout};
  for (const StageParts& stage : model_partition(job, schedule.routes)) {
    same_partition.layers.push_back(stage.layers.count);
    same_partition.mtp.push_back(stage.mtp);
  }
  config::Training no_recompute = job.training;
  no_recompute.recompute = {};
  StageCosts without_recompute = model_costs({.model = job.model,
                                              .training = no_recompute,
                                              .parallel = job.parallel,
                                              .partition = same_partition,
                                              .gpus = job.gpus,
                                              .communication = job.communication,
                                              .measured = job.measured},
                                             schedule.routes, schedule.slices);
  for (const PassKind kind : {PassKind::input_grad, PassKind::backward})
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
      double& seconds = costs.times[kind][stage];
      const double plain = without_recompute.times[kind][stage];
      const double factor = measured_seconds[stage] / costs.times[PassKind::forward][stage];
      seconds = plain + (seconds - plain) * factor;
      costs.traffic[stage][kind] = std::move(without_recompute.traffic[stage][kind]);
    }
}

void apply_forward_times(const config::Scenario& scenario, const ModelJob& job,
                         const Schedule& schedule, StageCosts& costs) {
  if (scenario.forward_times.value.empty()) return;
  const std::vector<double> measured_seconds =
      stage_times(scenario.forward_times, "forward_times", schedule);
  if (!scenario.backward_times && !scenario.input_grad_times)
    scale_recomputation(job, schedule, measured_seconds, costs);
  costs.times[PassKind::forward] = measured_seconds;
  add_overhead(scenario.pass_overhead, costs.times[PassKind::forward]);
  costs.times[PassKind::recompute] = costs.times[PassKind::forward];
  drop_calls(costs, {PassKind::forward, PassKind::recompute});
}

// Replaces the modelled times of backward passes by those that the scenario gives. If only the time
// of whole passes is given, it is divided into I and W in the modelled ratio.
void apply_backward_times(const config::Scenario& scenario, const Schedule& schedule,
                          StageCosts& costs) {
  auto& input = costs.times[PassKind::input_grad];
  auto& weight = costs.times[PassKind::weight_grad];
  auto& backward = costs.times[PassKind::backward];
  if (!scenario.backward_times && !scenario.input_grad_times) return;
  const auto modelled = backward;
  if (scenario.backward_times)
    backward = stage_times(*scenario.backward_times, "backward_times", schedule);
  if (scenario.input_grad_times) {
    input = stage_times(*scenario.input_grad_times, "input_grad_times", schedule);
    weight = stage_times(scenario.weight_grad_times.value(), "weight_grad_times", schedule);
  }
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
    if (!scenario.backward_times) backward[stage] = input[stage] + weight[stage];
    if (scenario.input_grad_times) continue;
    input[stage] *= backward[stage] / modelled[stage];
    weight[stage] *= backward[stage] / modelled[stage];
  }
  for (std::vector<double>* const times : {&input, &weight, &backward})
    add_overhead(scenario.pass_overhead, *times);
  drop_calls(costs, {PassKind::input_grad, PassKind::weight_grad, PassKind::backward});
}

// Replaces the modelled times of S and T by those that the scenario gives.
void apply_vocabulary_times(const config::Scenario& scenario, const Schedule& schedule,
                            StageCosts& costs) {
  set_vocabulary_times(scenario, schedule, costs.times);
  if (!scenario.output_times) return;
  for (const PassKind kind : {PassKind::output, PassKind::output_grad})
    add_overhead(scenario.pass_overhead, costs.times[kind]);
  drop_calls(costs, {PassKind::output, PassKind::output_grad});
}

// Replaces the modelled memory by the sizes that the scenario gives. The given size of activations
// includes the logits.
void apply_memory(const config::Scenario& scenario, const Schedule& schedule, StageCosts& costs) {
  const config::State& state = scenario.state;
  const auto given_states = device_states(state, schedule.routes, schedule.devices);
  for (std::uint32_t device = 0; device < schedule.devices; ++device) {
    DeviceState& device_state = costs.state[device];
    if (state.weights.has_values()) device_state.weights = given_states[device].weights;
    if (state.gradients.has_values()) device_state.gradients = given_states[device].gradients;
    if (state.optimizer.has_values()) device_state.optimizer = given_states[device].optimizer;
  }
  if (!scenario.activation.per_microbatch.has_values()) return;
  const auto stages =
      stage_activations(scenario.activation, schedule.routes, schedule.devices, schedule.slices);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
    costs.activations[stage] = {.held = stages[stage].held,
                                .released_by_input_grad = stages[stage].released_by_input_grad,
                                .working = costs.activations[stage].working};
}

// Replaces the modelled size of boundary tensors by a given one, and scales the stage inputs that
// recomputation keeps. These are whole tensors, of which one GPU may receive only a part.
void apply_boundary_tensor(std::uint64_t bytes, StageCosts& costs) {
  if (costs.boundary_bytes > 0)
    for (std::uint64_t& input : costs.input_bytes) input = input / costs.boundary_bytes * bytes;
  costs.boundary_bytes = bytes;
}

// Number of replicas whose wait for the slowest is part of the numbers of GPU files. An assumption:
// these numbers were fitted to runs of 1 to 256 replicas, and the eight GPUs of a node wait for
// each other too.
constexpr double replicas_in_gpu_files = 8;

// Approximation of the expected maximum of `count` standard normal variables by the mean of their
// extreme value distribution (H. Cramer, Mathematical Methods of Statistics, 1946, section 28.6).
double expected_maximum(double count) {
  constexpr double euler = 0.5772156649;
  const double scale = std::sqrt(2 * std::log(count));
  return scale + (euler - (std::log(std::log(count)) + std::log(4 * std::numbers::pi)) / 2) / scale;
}

}  // namespace

double slowest_replica(const config::Scenario& scenario) {
  const double replicas = scenario.parallel.dp.value;
  const bool measured = !scenario.forward_times.value.empty() || scenario.backward_times ||
                        scenario.input_grad_times || scenario.layer_times;
  if (replicas <= replicas_in_gpu_files || measured || scenario.variation.is_random()) return 1;
  return 1 + scenario.training.stack.replica_spread *
                 (expected_maximum(replicas) - expected_maximum(replicas_in_gpu_files));
}

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
  if (const double factor = slowest_replica(scenario); factor > 1)
    for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage)
      costs.slow_down(stage, factor, scenario.communication.detail);
  apply_forward_times(scenario, job, schedule, costs);
  apply_backward_times(scenario, schedule, costs);
  apply_vocabulary_times(scenario, schedule, costs);
  costs.times.overlap = scenario.overlap;
  if (scenario.fused_times) {
    costs.times.fused = stage_times(*scenario.fused_times, "fused_times", schedule);
    add_overhead(scenario.pass_overhead, costs.times.fused);
  }
  apply_memory(scenario, schedule, costs);
  if (scenario.boundary_tensor)
    apply_boundary_tensor(*scenario.boundary_tensor / schedule.slices, costs);
  return costs;
}

}  // namespace pipewright::workload
