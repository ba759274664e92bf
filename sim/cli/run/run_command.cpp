#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::cli {
namespace {

// The times of one schedule under several seeds.
struct Repeats {
  std::string name;               // the schedule's
  std::vector<double> makespans;  // seconds, in order of the seeds
};

constexpr double low = 0.05;
constexpr double high = 0.95;

// "1f1b, 20 seeds: time 5.620 s (median), 5.581 to 5.713 s (90 %)"
std::string describe(const Repeats& repeats) {
  const auto& times = repeats.makespans;
  return fmt::format("{}, {} seeds: time {} (median), {} to {} (90 %)\n", repeats.name,
                     times.size(), analysis::format_seconds(analysis::quantile(times, 0.5)),
                     analysis::format_seconds(analysis::quantile(times, low)),
                     analysis::format_seconds(analysis::quantile(times, high)));
}

analysis::JsonFields json_fields(const Repeats& repeats) {
  const auto& times = repeats.makespans;
  return {{"repeats", static_cast<double>(times.size())},
          {"makespan_median_s", analysis::quantile(times, 0.5)},
          {"makespan_p05_s", analysis::quantile(times, low)},
          {"makespan_p95_s", analysis::quantile(times, high)}};
}

using std::filesystem::path;

// One trace a schedule: the given name if there is one, else with the schedule's label in it.
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

// All files that the run reads.
std::vector<path> files_read(const RunRequest& request) {
  std::vector<path> read;
  if (request.file) read.push_back(*request.file);
  if (request.scenario.cluster) read.push_back(request.scenario.cluster->value);
  const std::optional<config::Lengths>& lengths = request.scenario.training.lengths;
  if (lengths && lengths->file) read.push_back(*lengths->file);
  for (const config::ScheduleSpec& spec : request.scenario.schedules)
    if (config::is_file(config::schedule_source(spec.name))) read.emplace_back(spec.name);
  return read;
}

// Seeds matter where something is random, and the simulated engine alone knows that.
void check_repeat(const RunRequest& request) {
  if (request.repeat == 1 || request.scenario.variation.is_random()) return;
  throw UsageError(
      "--repeat runs with several seeds, but nothing here is random; give variation.jitter as well "
      "(--set variation.jitter='2 %')");
}

struct Results {
  std::vector<analysis::Summary> summaries;
  std::vector<trace::Trace> traces;  // only where an output is drawn from them
  std::vector<path> files;           // the traces', if they are wanted
  std::vector<Repeats> repeats;      // if there are some
};

// Runs the schedule again with the seeds that follow its own.
Repeats repeat(evaluation::ScenarioRun& run, std::size_t schedule, std::uint32_t runs,
               const analysis::Summary& first, bool visible) {
  const schedules::Schedule& of = run.plans()[schedule].schedule;
  Repeats repeats{of.name, {first.makespan_s}};
  ProgressBar bar(fmt::format("{} again", of.name), visible);
  for (std::uint32_t seed = 1; seed < runs; ++seed) {
    RowProgress interrupts("", RowProgress::Rows::passes, of.size(), false);
    repeats.makespans.push_back(run.makespan(schedule, seed, interrupts));
    if (bar.is_due())
      bar.draw(static_cast<double>(seed) / runs, fmt::format("{} of {} runs", seed, runs));
  }
  return repeats;
}

Results run_all(const RunRequest& request, evaluation::ScenarioRun& run,
                const std::vector<path>& files, bool collect) {
  const bool visible = !request.quiet && !request.json;
  Results results{.files = files};
  for (std::size_t i = 0; i < run.plans().size(); ++i) {
    const schedules::Schedule& schedule = run.plans()[i].schedule;
    trace::TraceCollector collector;
    RowProgress progress(evaluation::label(schedule), RowProgress::Rows::passes, schedule.size(),
                         visible);
    std::unique_ptr<trace::TraceWriter> writer;
    std::vector<trace::Sink*> sinks{&progress};
    if (collect) sinks.push_back(&collector);
    if (request.scenario.trace)
      sinks.push_back((writer = std::make_unique<trace::TraceWriter>(results.files[i])).get());
    results.summaries.push_back(run.run(i, sinks));
    if (request.repeat > 1)
      results.repeats.push_back(repeat(run, i, request.repeat, results.summaries.back(), visible));
    if (collect) results.traces.push_back(std::move(collector.trace));
  }
  return results;
}

}  // namespace

int run_command(const Arguments& arguments) {
  const std::optional<po::variables_map> given = parse_run(arguments);
  if (!given) return exit_ok;
  if (given->count("together") != 0) return run_together(*given);
  const RunRequest request = read_run_request(*given);
  const config::Scenario& scenario = request.scenario;
  check_repeat(request);
  std::vector<path> named;
  for (const auto& output : scenario.outputs) named.push_back(output.value);
  const std::vector<Output> outputs = parse_outputs(named);
  std::vector<path> traces;
  watch_for_interrupts(interrupt_grace);  // planning does not poll
  evaluation::ScenarioRun run(scenario);
  const std::vector<workload::Plan>& plans = run.plans();
  if (scenario.trace) traces = trace_files(scenario.trace->value, plans);
  std::vector<path> written = named;
  written.insert(written.end(), traces.begin(), traces.end());
  check_files(files_read(request), written);

  print_notes(notes_before(run));
  if (!request.quiet && !request.json) {
    std::vector<std::string> names;
    for (const config::ScheduleSpec& spec : scenario.schedules) names.push_back(spec.name);
    print_notes(evaluation::notes_of_files(names));
  }
  const Results results = run_all(request, run, traces, needs_traces(outputs));
  for (const Output& output : outputs) write_output(output, results.summaries, results.traces);
  print_notes(evaluation::notes_of_speed(results.summaries));
  if (!request.quiet) print_notes(notes_of_host(run));

  const bool over = request.require_fit && !std::ranges::all_of(results.summaries, analysis::fits);
  const int status = over ? exit_does_not_fit : exit_ok;
  std::optional<analysis::TrainingQuestion> training = request.training;
  const workload::Gpus& gpus = run.hardware().gpus;
  if (training && !training->power && !gpus.empty() && gpus.front().power)
    training->power = {{gpus.front().power->compute, gpus.front().power->idle}};
  if (request.json) {
    std::vector<analysis::JsonFields> more(results.summaries.size());
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (i < results.repeats.size()) more[i] = json_fields(results.repeats[i]);
      if (!training) continue;
      for (analysis::JsonField& field : training_cost_fields(results.summaries[i], *training))
        more[i].push_back(std::move(field));
    }
    fmt::print("{}", analysis::json_summary(results.summaries, more));
    return status;
  }
  fmt::print("{}", analysis::console_table(results.summaries));
  for (const Repeats& repeats : results.repeats) fmt::print("{}", describe(repeats));
  if (training) fmt::print("{}", training_cost_table(results.summaries, *training));
  if (!request.launches.empty()) {
    const auto fastest =
        std::ranges::min_element(results.summaries, {}, &analysis::Summary::makespan_s);
    const auto index = static_cast<std::size_t>(fastest - results.summaries.begin());
    fmt::print("{}", write_launch(with_schedule(scenario, index), request.launches,
                                  &plans[index].schedule));
  }
  for (const path& file : results.files) fmt::print("trace   {}\n", file.string());
  for (const Output& output : outputs) fmt::print("wrote   {}\n", output.file.string());
  return status;
}

}  // namespace pipewright::cli
