#include "sim/cli/schedule/uncontended.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/assumed.hpp"
#include "analysis/report/report_table.hpp"
#include "analysis/report/summary_columns.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/sink.hpp"
#include "schedules/search/search.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::cli {
namespace {

using analysis::Summary;
using schedules::Objective;

// Replaces the model of a scenario by its costs per device, with the collectives of the passes
// included. Times per stage that the scenario sets are kept.
void spell_out_model(config::Scenario& scenario, evaluation::Hardware& hardware) {
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
  evaluation::make_job(plain, hardware, plan);
  const auto times = [&](schedules::PassKind kind) {
    return config::PassTimes{plan.costs.times[kind], scenario.model->origin};
  };
  // Times from the model include the overhead between passes; times that are kept do not.
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
  scenario.boundary_tensor = plan.costs.boundary_bytes;
  const std::size_t devices = scenario.devices.value;
  config::Activation activation;
  for (auto* bytes : {&activation.per_microbatch, &activation.released_by_input_grad,
                      &activation.released_by_weight_grad})
    bytes->values.resize(devices);
  config::State state;
  for (auto* bytes : {&state.weights, &state.gradients, &state.optimizer})
    bytes->values.resize(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    const workload::Activations& held = plan.costs.activations[device];
    const std::uint64_t early = std::min(held.held, held.released_by_input_grad);
    activation.per_microbatch.values[device] = held.held;
    activation.released_by_input_grad.values[device] = early;
    activation.released_by_weight_grad.values[device] = held.held - early;
    const workload::DeviceState& state_of_device = plan.costs.state[device];
    state.weights.values[device] = state_of_device.weights;
    state.gradients.values[device] = state_of_device.gradients;
    state.optimizer.values[device] = state_of_device.optimizer + state_of_device.buffers +
                                     state_of_device.allowance + held.logits + held.working;
  }
  scenario.activation = activation;
  scenario.state = state;
  scenario.model.reset();
}

config::Scenario without_cluster(config::Scenario scenario, trace::Assumed& assumed) {
  if (scenario.cluster || scenario.model) {
    evaluation::Hardware hardware = evaluation::open_hardware(scenario);
    assumed = evaluation::assumed_for(scenario, hardware);
    if (scenario.model) spell_out_model(scenario, hardware);
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
    : scenario_(without_cluster(std::move(scenario), assumed_)),
      network_(cluster::Cluster::ideal(scenario_.p2p_time)),
      hosts_(network_.position({}, scenario_.devices.value)) {
  watch_for_interrupts();
}

void Uncontended::run(const workload::Plan& plan, trace::Sink& sink) const {
  const execution::Job job{.schedule = plan.schedule,
                           .costs = plan.costs,
                           .cluster = network_,
                           .hosts = hosts_,
                           .assumed = assumed_};
  execution::run(job, execution::EngineKind::timing,
                 {.scenario = scenario_.text,
                  .versions = evaluation::versions(),
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

std::string sizes(const config::Scenario& scenario) {
  const std::uint32_t devices = scenario.devices.value;
  const std::uint32_t microbatches = scenario.microbatches.value;
  return fmt::format("{} device{} x {} microbatch{}", devices, devices == 1 ? "" : "s",
                     microbatches, microbatches == 1 ? "" : "es");
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

double span_of(const Summary& run) {
  double longest = 0;
  for (const analysis::DeviceSummary& device : run.devices)
    longest = std::max(longest, device.end_s - device.start_s);
  return longest;
}

double CatalogTable::value(const Summary& run) const {
  return objective_ == Objective::span ? span_of(run) : run.makespan_s;
}

// Inserts the run behind runs that are as good.
void CatalogTable::add(std::string name, Summary run) {
  const double seconds = value(run);
  constexpr double rounding = 1 + 1e-9;
  const auto position = std::ranges::find_if(
      rows_, [&](const Row& row) { return value(row.run) > seconds * rounding; });
  rows_.insert(position, {std::move(name), std::move(run)});
}

analysis::Quantity two_decimals() {
  return analysis::Quantity::each_as(
      [](double ratio) { return fmt::format("{:.2f}", 100 * ratio); });
}

std::string CatalogTable::text() const {
  using analysis::Quantity;
  double longest = 0;
  for (const Row& row : rows_) longest = std::max({longest, row.run.makespan_s, span_of(row.run)});
  const Quantity time = Quantity::on(analysis::time_scale(longest, 4));
  const Quantity more = Quantity::each_as(
      [](double part) { return part > 1e-9 ? fmt::format("+{:.2f}", 100 * part) : "0"; });
  const auto rests = [](const Row& row) { return analysis::times_rest_on(row.run.run.assumed); };
  analysis::ReportColumns<Row> columns{
      {"schedule", {"schedule"}, Quantity::name(), &Row::name},
      analysis::marked<Row>(
          {"makespan_s", {"time"}, time, [](const Row& row) { return row.run.makespan_s; }}, rests),
      analysis::marked<Row>(
          {"span_s", {"span"}, time, [](const Row& row) { return span_of(row.run); }}, rests),
      {"above_best",
       {"against", "best", "%"},
       more,
       [this](const Row& row) { return value(row.run) / value(rows_.front().run) - 1; }},
      {"bubble_ratio",
       {"bubble", "ratio", "%"},
       two_decimals(),
       [](const Row& row) { return std::max(0.0, row.run.bubble_ratio); }},
      {"span_bubble_s",
       {"span", "bubble"},
       Quantity::seconds(3),
       [](const Row& row) { return row.run.span_bubble_s; }},
      {"in_flight", {"in", "flight"}, Quantity::count(), [](const Row& row) {
         return analysis::in_flight_text(row.run);
       }}};
  if (objective_ != Objective::span)
    std::erase_if(columns, [](const auto& column) { return column.key == "span_s"; });
  std::vector<trace::Assumed> assumed;
  for (const Row& row : rows_) assumed.push_back(row.run.run.assumed);
  return analysis::table_text(columns, rows_) + analysis::assumed_lines(assumed);
}

}  // namespace pipewright::cli
