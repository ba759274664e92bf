#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/statistics.hpp"
#include "analysis/summary.hpp"
#include "analysis/summary_report.hpp"
#include "analysis/text_table.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "analysis/training_cost.hpp"
#include "analysis/units_text.hpp"
#include "schedules/deadlock.hpp"
#include "sim/cli/comm/job_traffic.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/run/layout_view.hpp"
#include "sim/cli/run/run_options.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/config/training_checks.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/evaluation/network_estimate.hpp"
#include "sim/evaluation/placing.hpp"
#include "sim/evaluation/uneven_cost.hpp"
#include "sim/evaluation/work_and_memory.hpp"
#include "sim/execution/run.hpp"
#include "sim/workload/batch/batch.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/plan/planner.hpp"

namespace pipewright::cli {
namespace {

// The types of the pipeline's devices, in the order in which they come.
std::string gpu_names(const config::Scenario& scenario, const evaluation::Hardware& hardware) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const config::Gpu& gpu : hardware.gpus) add(gpu.name);
  if (names.empty() && scenario.gpu) add(scenario.gpu->name);
  return fmt::format("{}", fmt::join(names, " and "));
}

// "none", "all layers", "50 % of 4 layers a stage"
std::string offload_text(const std::optional<config::Offload>& offload) {
  if (!offload) return "none";
  const std::string layers =
      offload->layers ? fmt::format("{} layers a stage", *offload->layers) : "all layers";
  return offload->share < 1 ? fmt::format("{:.4g} % of {}", 100 * offload->share, layers) : layers;
}

// What was run, for outputs that stand without the scenario.
analysis::JobInfo job_info(const config::Scenario& scenario, const evaluation::Hardware& hardware) {
  const config::Parallel& parallel = scenario.parallel;
  analysis::JobInfo job{
      .gpu = gpu_names(scenario, hardware),
      .tp = parallel.tp.value,
      .cp = parallel.cp.value,
      .ep = parallel.ep.value,
      .etp = parallel.expert_tp(),
      .dp = parallel.dp.value,
      .replicate = parallel.replicates(),
      .pp = parallel.pp.value,
      .sequence_parallel = parallel.sequence,
      .zero = parallel.zero,
      .symmetric = scenario.symmetric,
      .straddling =
          evaluation::straddling(hardware.ranks, hardware.hosts, hardware.cluster).groups};
  if (!scenario.model) return job;
  const config::Model& model = scenario.model->value;
  const config::Training& training = scenario.training;
  job.model = model.name.empty() ? "a model without a name" : model.name;
  job.global_batch =
      std::uint64_t{scenario.microbatches.value} * parallel.dp.value * training.microbatch_size;
  job.microbatch_size = training.microbatch_size;
  job.sequence = training.sequence.value_or(model.sequence);
  job.precision = config::name_of(training.precision);
  job.cuda_graphs = config::cuda_graph_names.at(static_cast<std::size_t>(training.cuda_graphs));
  job.flash_attention = training.flash_attention;
  job.recompute = to_string(training.recompute);
  job.offload = offload_text(training.offload);
  job.partition = to_string(scenario.partition);
  if (model.experts && parallel.ep.value > 1) {
    job.dispatch = config::dispatch_text(training.experts);
    job.routing = config::routing_text(training.experts);
  }
  if (!training.lengths) return job;
  job.lengths = config::to_string(*training.lengths);
  const auto batch = workload::batch_of(training, workload::sequence_of(model, training));
  job.padding = 1 - batch->real.tokens / batch->computed.tokens;
  return job;
}

// Says on standard error what a reader should know of the model.
void note_model(const config::Scenario& scenario) {
  if (!scenario.model) return;
  for (const std::string& note : notes_of(scenario.model->value, scenario.training))
    fmt::print(stderr, "pipewright: model: {}\n", analysis::printable(note));
}

// Says on standard error that recomputation only costs time.
void note_idle_recompute(const config::Scenario& scenario) {
  if (!scenario.model) return;
  const config::Model& model = scenario.model->value;
  const workload::ModelSetting setting{
      model, scenario.training, workload::sizes_of(model, scenario.training, scenario.parallel)};
  const std::string note = idle_recompute_note(setting);
  if (!note.empty()) fmt::print(stderr, "pipewright: {}\n", note);
}

// Says on standard error which schedules have nothing to interleave.
void note_single_chunks(const std::vector<workload::Plan>& plans) {
  for (const workload::Plan& plan : plans)
    if (plan.schedule.name.starts_with("interleaved") && plan.schedule.chunks == 1 &&
        plan.schedule.devices > 1)
      fmt::print(stderr,
                 "pipewright: {} with one chunk a device interleaves nothing, and holds more "
                 "activations than 1f1b; --chunks 2 or more\n",
                 plan.schedule.name);
}

// Says on standard error which runs computed more than their GPUs can: times of passes were given
// that cannot be of this model.
void note_impossible_speed(const std::vector<analysis::Summary>& runs) {
  for (const analysis::Summary& run : runs)
    if (const double mfu = run.mfu_precision.value_or(0); mfu > 1)
      fmt::print(stderr,
                 "pipewright: {}: an MFU of {:.4g} % is more than the GPUs can do; the times of "
                 "passes that are given are too short for this model\n",
                 run.run.schedule, 100 * mfu);
}

// Says on standard error of which runs GPUs wait for their host: a faster GPU would gain nothing.
void note_host(const std::vector<workload::Plan>& plans) {
  constexpr double little = 0.01;  // of a pass
  for (const workload::Plan& plan : plans) {
    const workload::StageCosts& costs = plan.costs;
    const std::uint32_t stages = plan.schedule.stages();
    std::uint32_t waiting = 0;
    double most = 0;
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      double share = 0;
      for (const auto kind : {schedules::PassKind::forward, schedules::PassKind::backward}) {
        const schedules::Pass pass{kind, static_cast<std::uint16_t>(stage)};
        const double idle =
            costs.of(costs.host_waits, pass) - costs.of(costs.collective_waits, pass);
        if (idle > 0) share = std::max(share, idle / costs.times(pass));
      }
      most = std::max(most, share);
      waiting += share > little ? 1 : 0;
    }
    if (waiting > 0)
      fmt::print(stderr,
                 "pipewright: {}: passes of {} of {} stages wait for their host to launch kernels, "
                 "up to {:.0f} % of their time; training.cuda_graphs (layer or iteration) saves "
                 "launches\n",
                 plan.schedule.name, waiting, stages, 100 * most);
  }
}

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

// "1f1b", "interleaved-1f1b-x4"; the same twice is told apart by its place.
std::string label(const schedules::Schedule& schedule) {
  return schedule.chunks > 1 ? fmt::format("{}-x{}", schedule.name, schedule.chunks)
                             : schedule.name;
}

// One trace a schedule: the given name if there is one, else with the schedule's label in it.
std::vector<path> trace_files(const path& file, const std::vector<workload::Plan>& plans) {
  if (plans.size() == 1) return {file};
  std::vector<path> files;
  std::set<path> taken;
  for (const workload::Plan& plan : plans) {
    const std::string stem = fmt::format("{}-{}", file.stem().string(), label(plan.schedule));
    path name = path(file).replace_filename(stem + file.extension().string());
    for (int copy = 2; !taken.insert(name).second; ++copy)
      name.replace_filename(fmt::format("{}-{}{}", stem, copy, file.extension().string()));
    files.push_back(std::move(name));
  }
  return files;
}

// The scenario of one of its schedules alone, which runs the same again.
std::string scenario_of(const config::Scenario& scenario, std::size_t index) {
  if (scenario.schedules.size() == 1) return scenario.text;
  config::Value tree = scenario.tree;
  const config::Value one = config::find(tree, "schedule")->items.at(index);
  config::set_key(tree, "schedule", one);
  return config::to_yaml(tree);
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

// Runs the job again with the seeds that follow its own.
Repeats repeat(execution::Job job, const trace::RunInfo& info, std::uint32_t runs,
               const analysis::Summary& first, bool visible) {
  Repeats repeats{job.schedule.name, {first.makespan_s}};
  ProgressBar bar(fmt::format("{} again", job.schedule.name), visible);
  for (std::uint32_t run = 1; run < runs; ++run) {
    ++job.conditions.variation.seed;
    analysis::SummarySink summary;
    RowProgress interrupts("", RowProgress::Rows::passes, job.schedule.size(), false);
    trace::Tee tee({&interrupts, &summary});
    execution::run(job, execution::EngineKind::simgrid, info, tee);
    repeats.makespans.push_back(summary.summary().makespan_s);
    if (bar.is_due())
      bar.draw(static_cast<double>(run) / runs, fmt::format("{} of {} runs", run, runs));
  }
  return repeats;
}

Results run_all(const RunRequest& request, evaluation::Hardware& hardware,
                std::vector<workload::Plan>& plans, const std::vector<path>& files, bool collect) {
  const config::Scenario& scenario = request.scenario;
  analysis::JobInfo job_run = job_info(scenario, hardware);
  if (!plans.empty()) job_run.untried = untried(scenario, hardware, plans.front());
  Results results{.files = files};

  for (std::size_t i = 0; i < plans.size(); ++i) {
    workload::Plan& plan = plans[i];
    analysis::SummarySink summary;
    trace::TraceCollector collector;
    RowProgress progress(label(plan.schedule), RowProgress::Rows::passes, plan.schedule.size(),
                         !request.quiet && !request.json);
    std::unique_ptr<trace::TraceWriter> writer;
    std::vector<trace::Sink*> sinks{&progress, &summary};
    if (collect) sinks.push_back(&collector);
    if (scenario.trace)
      sinks.push_back((writer = std::make_unique<trace::TraceWriter>(results.files[i])).get());
    trace::Tee tee(sinks);

    const trace::RunInfo info{
        .scenario = scenario_of(scenario, i),
        .versions = versions(),
        .samples_per_microbatch = evaluation::samples_per_microbatch(scenario),
        .tokens_per_microbatch = evaluation::tokens_per_microbatch(scenario),
        .job = analysis::describe(job_run)};
    const execution::Job job = evaluation::make_job(scenario, hardware, plan);
    try {
      execution::run(job,
                     scenario.engine == config::Engine::simgrid ? execution::EngineKind::simgrid
                                                                : execution::EngineKind::timing,
                     info, tee);
    } catch (const schedules::Deadlock& deadlock) {
      // Plans are called as their files, but without the extension.
      const std::string& name = scenario.schedules[i].name;
      if (!config::is_file(config::schedule_source(name))) throw;
      schedules::Schedule of_file = plan.schedule;
      of_file.name = name;
      throw schedules::Deadlock(of_file, deadlock.blocked());
    }
    results.summaries.push_back(summary.summary());
    results.summaries.back().job = job_run;
    results.summaries.back().job->uneven =
        evaluation::uneven_cost(scenario, hardware, plan.schedule);
    for (analysis::DeviceSummary& device : results.summaries.back().devices)
      device.memory_host = evaluation::smallest_host(job, device.device);
    if (request.repeat > 1)
      results.repeats.push_back(
          repeat(job, info, request.repeat, summary.summary(), !request.quiet && !request.json));
    if (collect) results.traces.push_back(std::move(collector.trace));
  }
  return results;
}

}  // namespace

int run_command(const Arguments& arguments) {
  const std::optional<RunRequest> request = read_run_request(arguments);
  if (!request) return exit_ok;
  const config::Scenario& scenario = request->scenario;
  check_repeat(*request);
  std::vector<path> named;
  for (const auto& output : scenario.outputs) named.push_back(output.value);
  const std::vector<Output> outputs = parse_outputs(named);
  std::vector<path> traces;
  evaluation::Hardware hardware = evaluation::open_hardware(scenario);
  // After SimGrid's engine has set a handler of its own. Planning does not poll.
  watch_for_interrupts(interrupt_grace);
  std::vector<workload::Plan> plans;
  for (const config::ScheduleSpec& spec : scenario.schedules)
    plans.push_back(evaluation::plan_on(scenario, spec, hardware));
  if (scenario.trace) traces = trace_files(scenario.trace->value, plans);
  std::vector<path> written = named;
  written.insert(written.end(), traces.begin(), traces.end());
  check_files(files_read(*request), written);

  note_model(scenario);
  note_idle_recompute(scenario);
  note_single_chunks(plans);
  note_straddling(hardware);
  if (!request->quiet && !request->json) {
    std::vector<std::string> names;
    for (const config::ScheduleSpec& spec : scenario.schedules) names.push_back(spec.name);
    note_dropped_transfers(names);
  }
  const Results results = run_all(*request, hardware, plans, traces, needs_traces(outputs));
  for (const Output& output : outputs) write_output(output, results.summaries, results.traces);
  note_impossible_speed(results.summaries);
  if (!request->quiet) note_host(plans);

  const bool over = request->require_fit && !std::ranges::all_of(results.summaries, analysis::fits);
  const int status = over ? exit_does_not_fit : exit_ok;
  std::optional<analysis::TrainingQuestion> training = request->training;
  if (training && !training->power && !hardware.gpus.empty() && hardware.gpus.front().power)
    training->power = {{hardware.gpus.front().power->compute, hardware.gpus.front().power->idle}};
  if (request->json) {
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
  if (!request->launches.empty()) {
    const auto fastest =
        std::ranges::min_element(results.summaries, {}, &analysis::Summary::makespan_s);
    const auto index = static_cast<std::size_t>(fastest - results.summaries.begin());
    fmt::print("{}", write_launch(with_schedule(scenario, index), request->launches,
                                  &plans[index].schedule));
  }
  for (const path& file : results.files) fmt::print("trace   {}\n", file.string());
  for (const Output& output : outputs) fmt::print("wrote   {}\n", output.file.string());
  return status;
}

}  // namespace pipewright::cli
