#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/first_screen.hpp"
#include "analysis/report/statistics.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/report/summary_report.hpp"
#include "analysis/report/training_cost.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/run/run_options.hpp"
#include "sim/cli/run/run_together.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/launch_plan.hpp"
#include "sim/evaluation/range_notes.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/evaluation/steady_state.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::cli {
namespace {

using std::filesystem::path;

// Iteration times of one schedule, simulated with several random seeds.
struct Repeats {
  std::string schedule;
  std::vector<double> makespans;  // seconds, in order of the seeds
};

analysis::SeedSpread spread_of(const Repeats& repeats) {
  const std::vector<double>& times = repeats.makespans;
  return {.seeds = times.size(),
          .median_s = analysis::quantile(times, 0.5),
          .p05_s = analysis::quantile(times, 0.05),
          .p95_s = analysis::quantile(times, 0.95)};
}

// Result of --repeat: "1f1b, 20 seeds: median 5.620 s, 90 % from 5.581 s to 5.713 s"
std::string repeats_text(const Repeats& repeats) {
  const analysis::SeedSpread spread = spread_of(repeats);
  return fmt::format("{}, {} seeds: median {}, 90 % from {} to {}\n", repeats.schedule,
                     spread.seeds, analysis::format_seconds(spread.median_s),
                     analysis::format_seconds(spread.p05_s),
                     analysis::format_seconds(spread.p95_s));
}

analysis::JsonFields repeats_json(const Repeats& repeats) {
  const analysis::SeedSpread spread = spread_of(repeats);
  return {{"repeats", static_cast<double>(spread.seeds)},
          {"makespan_median_s", spread.median_s},
          {"makespan_p05_s", spread.p05_s},
          {"makespan_p95_s", spread.p95_s}};
}

// Fields of a simulation that ran one replica of each kind in place of all.
analysis::JsonFields reduction_json(const execution::Reduction& reduction) {
  if (reduction.simulated >= reduction.replicas) return {};
  return {{"simulated_replicas", static_cast<double>(reduction.simulated)},
          {"reduction_is_exact", reduction.likeness == execution::Reduction::Likeness::place}};
}

// Names of the trace files, one for each schedule. If there are several, the schedule's label is
// part of the name.
std::vector<path> trace_files(const path& file, const std::vector<workload::Plan>& plans) {
  if (plans.size() == 1) return {file};
  std::vector<path> files;
  std::set<path> taken;
  for (const workload::Plan& plan : plans) {
    const std::string stem =
        fmt::format("{}-{}", file.stem().string(), evaluation::label(plan.schedule));
    path name = path(file).replace_filename(stem + file.extension().string());
    for (int copy = 2; !taken.insert(name).second; ++copy)
      name.replace_filename(fmt::format("{}-{}{}", stem, copy, file.extension().string()));
    files.push_back(std::move(name));
  }
  return files;
}

// Files that the run reads: scenario, cluster, sequence lengths and schedules.
std::vector<path> input_files(const RunRequest& request) {
  std::vector<path> files;
  if (request.file) files.push_back(*request.file);
  if (request.scenario.cluster) files.push_back(request.scenario.cluster->value);
  const std::optional<config::Lengths>& lengths = request.scenario.training.lengths;
  if (lengths && lengths->file) files.push_back(*lengths->file);
  const std::optional<config::VisionModule>& vision = request.scenario.training.vision;
  if (vision && vision->patches.file) files.push_back(*vision->patches.file);
  for (const config::ScheduleSpec& spec : request.scenario.schedules)
    if (config::is_file(config::schedule_source(spec.name))) files.emplace_back(spec.name);
  return files;
}

// Throws UsageError for --repeat if nothing is random, so that every seed would give the same time.
void check_repeat(const RunRequest& request) {
  if (request.repeat == 1 || request.scenario.variation.is_random()) return;
  throw UsageError("--repeat runs with several seeds, but nothing here is random")
      .suggest("give variation.jitter as well (--set variation.jitter='2 %')");
}

// Throws UsageError for --steady-state with options that need every pass or several seeds.
void check_steady_state(const RunRequest& request, const std::vector<Output>& outputs) {
  if (!request.steady_state) return;
  if (request.scenario.trace || needs_traces(outputs))
    throw UsageError(
        "--steady-state simulates only some passes, but a trace or a picture shows all of them")
        .suggest("leave out --steady-state, or the trace and the pictures");
  if (request.repeat > 1)
    throw UsageError(
        "--repeat draws the times of all passes, but --steady-state simulates only some");
}

// Scenario with as few microbatches as short runs of all its schedules need.
config::Scenario shortened(config::Scenario scenario) {
  std::uint32_t microbatches = 0;
  for (const config::ScheduleSpec& spec : scenario.schedules) {
    const auto runs = evaluation::short_runs(scenario, spec, evaluation::least_periods);
    if (!runs) return scenario;
    microbatches = std::max(microbatches, runs->microbatches.front());
  }
  if (microbatches > 0) scenario.microbatches.value = microbatches;
  return scenario;
}

// True if it takes seconds to plan the job and to prepare its simulation.
bool is_large(const config::Scenario& scenario) {
  constexpr std::size_t many_gpus = 4096;
  return workload::Ranks(scenario.parallel).size() >= many_gpus;
}

struct Results {
  std::vector<analysis::Summary> summaries;
  std::vector<trace::Trace> traces;  // empty unless an output is drawn from them
  std::vector<path> trace_files;     // empty unless the scenario asks for traces
  std::vector<Repeats> repeats;      // empty without --repeat
};

// Simulates the schedule again, with the runs - 1 seeds after that of the first run.
Repeats repeat(evaluation::ScenarioRun& run, std::size_t index, std::uint32_t runs,
               const analysis::Summary& first, bool is_visible) {
  const schedules::Schedule& schedule = run.plans()[index].schedule;
  Repeats repeats{schedule.name, {first.makespan_s}};
  ProgressBar bar(fmt::format("{} again", schedule.name), is_visible);
  for (std::uint32_t seed = 1; seed < runs; ++seed) {
    RowProgress interrupts("", RowProgress::Rows::passes, schedule.size(), false);
    repeats.makespans.push_back(run.makespan(index, seed, interrupts));
    if (bar.is_due())
      bar.draw(static_cast<double>(seed) / runs, fmt::format("{} of {} runs", seed, runs));
  }
  return repeats;
}

Results run_all(const RunRequest& request, evaluation::ScenarioRun& run,
                const std::vector<path>& files, bool collect) {
  const bool is_visible = !request.quiet && !request.json;
  Results results{.trace_files = files};
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    const schedules::Schedule& schedule = run.plans()[i].schedule;
    trace::TraceCollector collector;
    RowProgress progress(evaluation::label(schedule), RowProgress::Rows::passes, schedule.size(),
                         is_visible, "; --steady-state simulates a few periods only");
    if (is_large(request.scenario)) progress.announce("compares the routes of replicas");
    std::unique_ptr<trace::TraceWriter> writer;
    std::vector<trace::Sink*> sinks{&progress};
    if (collect) sinks.push_back(&collector);
    if (request.scenario.trace)
      sinks.push_back((writer = std::make_unique<trace::TraceWriter>(files[i])).get());
    results.summaries.push_back(request.steady_state ? run.run_steadily(i, request.scenario)
                                                     : run.run(i, sinks));
    if (request.repeat > 1)
      results.repeats.push_back(
          repeat(run, i, request.repeat, results.summaries.back(), is_visible));
    if (collect) results.traces.push_back(std::move(collector.trace));
  }
  return results;
}

void append(std::vector<std::string>& notes, const std::vector<std::string>& further) {
  notes.insert(notes.end(), further.begin(), further.end());
}

// Notes on the figures of a run, the most important first. --quiet leaves out notes that are only
// advice.
std::vector<std::string> run_notes(const RunRequest& request, const evaluation::ScenarioRun& run,
                                   const Results& results) {
  std::vector<std::string> notes = evaluation::notes_of_speed(results.summaries);
  RowProgress interrupts("", RowProgress::Rows::passes, 1, false);
  append(notes, notes_of_ranges(run.scenario(), run.hardware(), results.summaries, interrupts));
  append(notes, notes_of_reduction(run));
  append(notes, notes_before(run));
  if (!request.quiet) {
    std::vector<std::string> names;
    for (const config::ScheduleSpec& spec : request.scenario.schedules) names.push_back(spec.name);
    if (!request.json) append(notes, evaluation::notes_of_files(names));
    append(notes, notes_of_host(run));
  }
  return notes;
}

// Settings for the cost of training on the tokens of --tokens. The power of a GPU defaults to that
// of the first GPU type.
std::optional<analysis::TrainingQuestion> training_question(const RunRequest& request,
                                                            const evaluation::ScenarioRun& run) {
  std::optional<analysis::TrainingQuestion> training = request.training;
  const workload::Gpus& gpus = run.hardware().gpus;
  if (training && !training->power && !gpus.empty() && gpus.front().power)
    training->power = {{gpus.front().power->compute, gpus.front().power->idle}};
  if (const auto& cap = run.scenario().variation.power_cap; cap && training && training->power)
    training->power->compute = std::min(training->power->compute, cap->value);
  return training;
}

std::string json_report(const evaluation::ScenarioRun& run, const Results& results,
                        const std::optional<analysis::TrainingQuestion>& training) {
  std::vector<analysis::JsonFields> fields(results.summaries.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i < results.repeats.size()) fields[i] = repeats_json(results.repeats[i]);
    for (analysis::JsonField& field : reduction_json(run.reduction(i)))
      fields[i].push_back(std::move(field));
    if (!training) continue;
    for (analysis::JsonField& field : training_cost_fields(results.summaries[i], *training))
      fields[i].push_back(std::move(field));
  }
  return analysis::json_summary(results.summaries, fields);
}

std::string text_report(const RunRequest& request, const Results& results,
                        const std::vector<std::string>& notes,
                        const std::optional<analysis::TrainingQuestion>& training) {
  std::string text;
  if (request.details) {
    text = analysis::console_table(results.summaries);
    for (const Repeats& repeats : results.repeats) text += repeats_text(repeats);
    text += analysis::note_lines(notes);
  } else {
    std::vector<analysis::SeedSpread> spreads;
    for (const Repeats& repeats : results.repeats) spreads.push_back(spread_of(repeats));
    text = analysis::first_screen(results.summaries, spreads, notes);
  }
  if (training) text += training_cost_table(results.summaries, *training);
  return text;
}

}  // namespace

int run_command(const Arguments& arguments) {
  const std::optional<po::variables_map> options = parse_run(arguments);
  if (!options) return exit_ok;
  if (options->count("together") != 0) return run_together(*options);
  const RunRequest request = read_run_request(*options);
  const config::Scenario& scenario = request.scenario;
  check_repeat(request);
  std::vector<path> output_files;
  for (const auto& output : scenario.outputs) output_files.push_back(output.value);
  const std::vector<Output> outputs = parse_outputs(output_files);
  std::vector<path> traces;
  watch_for_interrupts(interrupt_grace);  // planning does not poll
  check_steady_state(request, outputs);
  std::optional<ProgressBar> planning(std::in_place, "plan", !request.quiet && !request.json);
  if (is_large(scenario)) planning->announce("reads the cluster and plans stages and collectives");
  evaluation::ScenarioRun run(request.steady_state ? shortened(scenario) : scenario);
  planning.reset();
  const std::vector<workload::Plan>& plans = run.plans();
  if (scenario.trace) traces = trace_files(scenario.trace->value, plans);
  std::vector<path> written = output_files;
  written.insert(written.end(), traces.begin(), traces.end());
  for (const path& file : launch_files(request.launches)) written.push_back(file);
  check_files(input_files(request), written);

  const Results results = run_all(request, run, traces, needs_traces(outputs));
  const std::vector<std::string> notes = run_notes(request, run, results);
  const std::optional<analysis::TrainingQuestion> training = training_question(request, run);
  if (request.json) {
    print_notes(notes);
    fmt::print("{}", json_report(run, results, training));
  } else {
    // A launch script on standard output is alone there.
    fmt::print(prints_script(request.launches) ? stderr : stdout, "{}",
               text_report(request, results, notes, training));
  }
  OutputFiles files;
  for (const Output& output : outputs)
    files.write(output.file, [&] { write_output(output, results.summaries, results.traces); });
  if (!request.json && !request.launches.empty()) {
    const auto fastest =
        std::ranges::min_element(results.summaries, {}, &analysis::Summary::makespan_s);
    const auto index = static_cast<std::size_t>(fastest - results.summaries.begin());
    config::LaunchPlan plan = evaluation::launch_plan(run, index);
    plan.lacks_memory = analysis::over_capacity_text(*fastest, "the job");
    fmt::print("{}", write_launch(with_schedule(scenario, index), request.launches,
                                  input_files(request), plan));
  }
  if (!request.json) {
    for (const path& file : results.trace_files) fmt::print("trace   {}\n", file.string());
    files.print_written();
  }
  const bool is_over =
      request.require_fit && !std::ranges::all_of(results.summaries, analysis::fits);
  return files.status(is_over ? exit_does_not_fit : exit_ok);
}

}  // namespace pipewright::cli
