#include "sim/evaluation/uncontended.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/trace/sink.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/search/search.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::evaluation {
namespace {

// Sets the memory of activations and of states on each device from the costs of a plan.
void set_memory(const workload::StageCosts& costs, config::Scenario& scenario) {
  const std::size_t devices = scenario.devices.value;
  config::Activation activation;
  for (auto* bytes : {&activation.per_microbatch, &activation.released_by_input_grad,
                      &activation.released_by_weight_grad})
    bytes->values.resize(devices);
  config::State state;
  for (auto* bytes : {&state.weights, &state.gradients, &state.optimizer})
    bytes->values.resize(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    const workload::Activations& held = costs.activations[device];
    const std::uint64_t early = std::min(held.held, held.released_by_input_grad);
    activation.per_microbatch.values[device] = held.held;
    activation.released_by_input_grad.values[device] = early;
    activation.released_by_weight_grad.values[device] = held.held - early;
    const workload::DeviceState& state_of_device = costs.state[device];
    state.weights.values[device] = state_of_device.weights;
    state.gradients.values[device] = state_of_device.gradients;
    state.optimizer.values[device] = state_of_device.optimizer + state_of_device.buffers +
                                     state_of_device.allowance +
                                     std::max(held.logits + held.working, state_of_device.step);
  }
  scenario.activation = activation;
  scenario.state = state;
}

// Replaces the model of a scenario by pass times and sizes for each stage, computed from the model
// with the collectives inside passes included. Times that the scenario sets are kept.
void replace_model(config::Scenario& scenario, Hardware& hardware) {
  const auto of_stages = [&](const std::optional<config::PassTimes>& times) {
    return times && times->value.size() > 1 && times->value.size() != scenario.devices.value;
  };
  const bool keeps_forward = of_stages(scenario.forward_times);
  const bool keeps_backward = of_stages(scenario.backward_times) ||
                              of_stages(scenario.input_grad_times) ||
                              of_stages(scenario.weight_grad_times);
  config::Scenario plain = scenario;
  plain.fused_times.reset();
  if (keeps_forward) plain.forward_times = {};
  if (keeps_backward)
    for (auto* times : {&plain.backward_times, &plain.input_grad_times, &plain.weight_grad_times})
      times->reset();
  workload::Plan plan = workload::make_plan(
      plain,
      schedules::make_schedule(
          "1f1b", {.devices = scenario.devices.value, .microbatches = scenario.microbatches.value}),
      hardware.gpus);
  make_job(plain, hardware, plan);
  const auto times = [&](schedules::PassKind kind) {
    return config::PassTimes{plan.costs.times[kind], scenario.model->origin};
  };
  // Times computed from the model include the overhead between passes; it is added to times that
  // the scenario sets.
  const auto add_overhead = [&](config::PassTimes& times_of_pass) {
    for (double& seconds : times_of_pass.value) seconds += scenario.pass_overhead;
  };
  if (keeps_forward)
    add_overhead(scenario.forward_times);
  else
    scenario.forward_times = times(schedules::PassKind::forward);
  for (auto* times_of_pass : {&scenario.backward_times, &scenario.input_grad_times,
                              &scenario.weight_grad_times, &scenario.fused_times})
    if (*times_of_pass && (keeps_backward || times_of_pass == &scenario.fused_times))
      add_overhead(**times_of_pass);
  scenario.pass_overhead = 0;
  if (!keeps_backward) {
    scenario.input_grad_times = times(schedules::PassKind::input_grad);
    scenario.weight_grad_times = times(schedules::PassKind::weight_grad);
    scenario.backward_times.reset();
  }
  if (scenario.parallel.cuts_vocabulary()) {
    scenario.output_times = times(schedules::PassKind::output);
    scenario.output_grad_times = times(schedules::PassKind::output_grad);
  }
  scenario.boundary_tensor = plan.costs.boundary_bytes;
  set_memory(plan.costs, scenario);
  scenario.model.reset();
}

config::Scenario without_contended_cluster(config::Scenario scenario, trace::Evidence& evidence) {
  if (scenario.cluster || scenario.model) {
    Hardware hardware = open_hardware(scenario);
    evidence = evidence_of(scenario, hardware);
    if (scenario.model) replace_model(scenario, hardware);
    scenario.parallel = {.pp = scenario.devices, .vocabulary = scenario.parallel.vocabulary};
    const auto host = [&](std::uint32_t device) {
      return hardware.hosts[hardware.ranks.rank_of({0, device}, 0)];
    };
    for (std::uint32_t device = 0; device + 1 < scenario.devices.value; ++device)
      scenario.p2p_time =
          std::max(scenario.p2p_time, hardware.cluster.route(host(device), host(device + 1))
                                          .seconds(scenario.boundary_tensor.value_or(0)));
  }
  scenario.cluster.reset();
  scenario.placement = {};
  scenario.iterations.value = 1;
  return scenario;
}

}  // namespace

Uncontended::Uncontended(config::Scenario scenario)
    : scenario_(without_contended_cluster(std::move(scenario), evidence_)),
      network_(cluster::Cluster::ideal(scenario_.p2p_time)),
      hosts_(network_.place({}, scenario_.devices.value)) {}

void Uncontended::run(const workload::Plan& plan, trace::Sink& sink) const {
  const execution::Job job{.schedule = plan.schedule,
                           .costs = plan.costs,
                           .cluster = network_,
                           .hosts = hosts_,
                           .evidence = evidence_};
  execution::run(job, execution::EngineKind::timing,
                 {.scenario = scenario_.text,
                  .versions = versions(),
                  .samples_per_microbatch = scenario_.samples_per_microbatch.value_or(0),
                  .tokens_per_microbatch = scenario_.tokens_per_microbatch.value_or(0)},
                 sink);
}

analysis::Summary Uncontended::summary(const workload::Plan& plan) const {
  analysis::SummarySink sink;
  run(plan, sink);
  return sink.summary();
}

trace::Trace Uncontended::trace(const workload::Plan& plan) const {
  trace::TraceCollector collector;
  run(plan, collector);
  return std::move(collector.trace);
}

std::vector<CatalogRun> run_catalog(const Uncontended& uncontended) {
  std::vector<CatalogRun> runs;
  for (const schedules::Entry& entry : schedules::catalog()) {
    CatalogRun run{.entry = &entry, .why_not = {}, .summary = {}};
    try {
      const workload::Plan plan =
          workload::make_plan(uncontended.scenario(), {.name = std::string(entry.name)});
      run.is_searchable = schedules::is_searchable(plan.schedule);
      run.summary = uncontended.summary(plan);
    } catch (const config::Error& error) {
      run.why_not = error.what();
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<CatalogRun> searchable(std::vector<CatalogRun> runs) {
  std::erase_if(runs,
                [](const CatalogRun& run) { return !run.why_not.empty() || !run.is_searchable; });
  return runs;
}

double span_of(const analysis::Summary& run) {
  double longest = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    longest = std::max(longest, device.end_s - device.start_s);
  return longest;
}

}  // namespace pipewright::evaluation
