#include "sim/evaluation/what_if.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/summary.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/evidence_json.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/refusals.hpp"
#include "sim/evaluation/stored_scenario.hpp"
#include "sim/evaluation/trial.hpp"
#include "sim/execution/run.hpp"
#include "sim/process/run.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::evaluation {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Result of simulating a changed or unchanged scenario again.
struct Rerun {
  double makespan_s = 0;
  std::optional<analysis::Overflow> overflow;
  trace::Evidence evidence;  // what the result rests on
  std::string refusal;       // rule of its stack that the job breaks; empty: none
};

OrderedJson to_json(const Rerun& rerun) {
  OrderedJson value{{"makespan_s", rerun.makespan_s}, {"refusal", rerun.refusal}};
  trace::add_evidence(value, rerun.evidence);
  if (const auto& overflow = rerun.overflow)
    value["overflow"] = {{"device", overflow->device},
                         {"peak_bytes", overflow->peak_bytes},
                         {"capacity_bytes", overflow->capacity_bytes}};
  return value;
}

std::string line_of(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

Rerun read_rerun(const OrderedJson& value) {
  Rerun rerun{.makespan_s = value.at("makespan_s"),
              .overflow = {},
              .evidence = trace::read_evidence(value),
              .refusal = value.at("refusal")};
  if (const auto overflow = value.find("overflow"); overflow != value.end())
    rerun.overflow = analysis::Overflow{.device = overflow->at("device"),
                                        .peak_bytes = overflow->at("peak_bytes"),
                                        .capacity_bytes = overflow->at("capacity_bytes")};
  return rerun;
}

// Simulates a scenario on its hardware, except if its stack refuses the job and `skips_refused` is
// set.
Rerun simulate(const config::Scenario& scenario, Hardware& hardware, const Change& change,
               bool skips_refused) {
  workload::Plan plan = plan_on(scenario, scenario.schedules.front(), hardware);
  Rerun rerun;
  const std::vector<config::Error> broken =
      refusals(scenario, scenario.schedules.front(), plan.schedule.routes);
  if (!broken.empty()) rerun.refusal = broken.front().found();
  if (skips_refused && !broken.empty()) return rerun;
  const execution::Job job = make_job(scenario, hardware, plan);
  if (change.speed) change.speed(plan.costs);
  analysis::SummarySink summary;
  execution::run(job, engine_of(scenario), {}, summary);
  rerun.makespan_s = summary.summary().makespan_s;
  rerun.overflow = analysis::overflow_of(summary.summary());
  rerun.evidence = job.evidence;
  return rerun;
}

// Simulates a scenario with a change. Loads the cluster, so it must be called in a process of its
// own.
Rerun rerun_with(const StoredScenario& stored, const Change& change, bool skips_refused) {
  config::Value tree = stored.tree();
  if (change.edit) change.edit(tree);
  for (const auto& [key, value] : change.settings)
    config::override_key(tree, key, value, {"what if"});
  const config::Scenario scenario = stored.read(tree);
  Hardware hardware = open_hardware(scenario);
  return simulate(scenario, hardware, change, skips_refused);
}

// Fused attention kernels in their current versions that all GPUs have and the run does not use.
std::vector<std::string_view> other_attention_kernels(const config::Scenario& scenario,
                                                      const Hardware& hardware) {
  using enum config::AttentionKernel;
  std::vector<std::string_view> names;
  if (!scenario.model || !scenario.training.flash_attention) return names;
  for (const config::AttentionKernel kernel : {fa2, fa3, cudnn, ck, aiter, aotriton}) {
    const auto is_choice = [&](const config::Gpu& gpu) {
      return config::has_kernel(gpu, kernel) &&
             config::attention_kernel_of(gpu, scenario.training.stack.attention) != kernel;
    };
    if (std::ranges::all_of(hardware.gpus, is_choice))
      names.push_back(base::name_of(config::attention_kernel_names, kernel));
  }
  return names;
}

// Returns the types of 8 bits in which all GPUs can compute the attention of the job, by kernels of
// its stack.
std::vector<std::string_view> scaled_attention_types(const config::Scenario& scenario,
                                                     const Hardware& hardware) {
  std::vector<std::string_view> names;
  if (!scenario.model || !scenario.training.flash_attention) return names;
  const auto takes = [&](const config::Gpu& gpu, config::DataType type) {
    return has_type(gpu, type) && std::ranges::any_of(scenario.training.stack.attention,
                                                      [&](config::AttentionKernel kernel) {
                                                        return config::has_kernel(gpu, kernel) &&
                                                               rates_of(gpu, kernel).of(type);
                                                      });
  };
  for (const config::DataType type : {config::DataType::fp8, config::DataType::mxfp8})
    if (std::ranges::all_of(hardware.gpus,
                            [&](const config::Gpu& gpu) { return takes(gpu, type); }))
      names.push_back(config::name_of(type));
  return names;
}

// Parameters of the hardware that can be changed, in JSON: classes of the links on the routes from
// the job's first GPU to its other GPUs, recipes whose data types all GPUs support, and attention
// kernels.
OrderedJson hardware_choices(const config::Scenario& scenario, const Hardware& hardware) {
  std::vector<std::string> names;
  for (const LinkClass& link_class : link_classes(hardware)) names.push_back(link_class.name);
  std::vector<std::string_view> recipes;
  for (std::size_t recipe = 0; recipe < config::data_types.size(); ++recipe) {
    const auto has_type = [&](const config::Gpu& gpu) {
      return config::has_type(gpu, static_cast<config::DataType>(recipe));
    };
    if (std::ranges::all_of(hardware.gpus, has_type)) recipes.push_back(config::data_types[recipe]);
  }
  return {{"link_classes", names},
          {"recipes", recipes},
          {"attention_kernels", other_attention_kernels(scenario, hardware)},
          {"attention_types", scaled_attention_types(scenario, hardware)}};
}

// Simulates the unchanged scenario, and returns the result with the parameters of its hardware that
// can be changed. Loads the cluster, so it must be called in a process of its own.
OrderedJson rerun_unchanged(const StoredScenario& stored) {
  const config::Scenario scenario = stored.read(stored.tree());
  Hardware hardware = open_hardware(scenario);
  OrderedJson choices = hardware_choices(scenario, hardware);
  return {{"choices", std::move(choices)},
          {"rerun", to_json(simulate(scenario, hardware, {}, false))}};
}

// Settings of a change as words after --set; empty if an edit belongs to them.
std::vector<std::string> set_texts(const Change& change) {
  std::vector<std::string> texts;
  if (change.edit) return texts;
  for (const auto& [key, value] : change.settings)
    texts.push_back(fmt::format("{}={}", key, value));
  return texts;
}

void sort_by_gain(std::vector<analysis::WhatIfRow>& attempts) {
  std::ranges::stable_sort(attempts, {}, [](const analysis::WhatIfRow& row) {
    return row.makespan_s.value_or(std::numeric_limits<double>::infinity());
  });
}

// Adds rows to the result; of the stages without a noticeable gain, only the first few.
void add_rows(const std::vector<analysis::WhatIfRow>& sorted, analysis::WhatIf& result) {
  constexpr std::size_t max_without_gain = 8;
  // Smallest gain, as a fraction of the run's time, that is not printed as 0.0 %.
  constexpr double noticeable = 5e-4;
  std::size_t stages = 0;
  std::size_t left_out = 0;
  for (const analysis::WhatIfRow& row : sorted) {
    const bool gains = analysis::gain_s(result, row) >= noticeable * result.rerun_s;
    if (row.stage && row.makespan_s && ++stages > max_without_gain && !gains)
      ++left_out;
    else
      result.rows.push_back(row);
  }
  if (left_out > 0)
    result.notes.push_back(fmt::format(
        "{} more stages are left out: each gains less than 0.05 % when 10 % faster", left_out));
}

}  // namespace

analysis::WhatIf what_if(const trace::Trace& trace, const analysis::WhyReport& report,
                         const WhatIfOptions& options) {
  const StoredScenario stored(trace, options.file);
  const config::Scenario& scenario = stored.scenario();
  if (scenario.engine == config::Engine::simgrid) execution::load_simulator();
  const process::Body rerun_first = [&] {
    return stored.with_cluster_name([&] { return line_of(rerun_unchanged(stored)); });
  };
  const process::Result first =
      process::run_all({rerun_first}, 1, [&](std::size_t) { options.on_progress(0, 1); }).front();
  if (first.failed) stored.cannot_run(first_line(first.text));
  const OrderedJson first_result = OrderedJson::parse(first.text);
  const OrderedJson& choices = first_result["choices"];
  const Rerun unchanged = read_rerun(first_result["rerun"]);
  // A change from a job that the stack accepts to a job that it refuses cannot run.
  const bool skips_refused = unchanged.refusal.empty();
  analysis::WhatIf result{.rerun_s = unchanged.makespan_s};
  using Names = std::vector<std::string>;
  const std::vector<Change> changes =
      what_if_changes(scenario, report,
                      {.link_classes = choices["link_classes"].get<Names>(),
                       .recipes = choices["recipes"].get<Names>(),
                       .attention_kernels = choices["attention_kernels"].get<Names>(),
                       .attention_types = choices["attention_types"].get<Names>()},
                      result.notes);

  std::vector<process::Body> bodies;
  for (const Change& change : changes)
    bodies.emplace_back([&] {
      return stored.with_cluster_name(
          [&] { return line_of(to_json(rerun_with(stored, change, skips_refused))); });
    });
  const auto report_progress = [&](std::size_t done) {
    options.on_progress(done + 1, changes.size() + 1);
  };
  const auto row_of = [&](std::size_t change, const process::Result& process_result) {
    analysis::WhatIfRow row{.change = changes[change].words,
                            .set = set_texts(changes[change]),
                            .stage = changes[change].stage};
    if (process_result.failed) {
      row.why_not = first_line(process_result.text);
      return row;
    }
    Rerun rerun = read_rerun(OrderedJson::parse(process_result.text));
    if (skips_refused && !rerun.refusal.empty()) {
      row.why_not = rerun.refusal;
      return row;
    }
    row.makespan_s = rerun.makespan_s;
    row.overflow = rerun.overflow;
    row.evidence = std::move(rerun.evidence);
    return row;
  };
  const auto report_row = [&](std::size_t change, const process::Result& process_result) {
    if (options.on_row) options.on_row(row_of(change, process_result), result.rerun_s);
  };
  const std::vector<process::Result> results =
      process::run_all(bodies, options.jobs, report_progress, report_row);
  if (std::abs(result.rerun_s - report.makespan_s) > 1e-9 * report.makespan_s)
    result.notes.push_back(fmt::format(
        "without a change the scenario now takes {} instead of {}: pipewright, or a file that the "
        "scenario names, has changed since the trace was made ({}); gains are relative to the new "
        "time",
        analysis::format_seconds(result.rerun_s), analysis::format_seconds(report.makespan_s),
        trace.run.versions));
  std::vector<analysis::WhatIfRow> attempts;
  for (std::size_t i = 0; i < changes.size(); ++i) attempts.push_back(row_of(i, results[i]));
  sort_by_gain(attempts);
  add_rows(attempts, result);
  return result;
}

}  // namespace pipewright::evaluation
