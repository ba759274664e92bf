#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/compare/against_measured.hpp"
#include "analysis/measured/compare/log_comparison.hpp"
#include "analysis/measured/compare/pass_order.hpp"
#include "analysis/measured/compare/snapshot_comparison.hpp"
#include "analysis/measured/compare/trace_comparison.hpp"
#include "analysis/measured/formats.hpp"
#include "analysis/measured/logs/training_log.hpp"
#include "analysis/report/text_table.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/trace/measured.hpp"
#include "sim/cli/trace/model_flop_rules.hpp"
#include "sim/cli/trace/run_settings.hpp"
#include "sim/workload/schedule_source.hpp"

namespace pipewright::cli {
namespace {

using analysis::FileKind;
using std::filesystem::path;

// Parsed command line of `compare`, for any kind of comparison.
struct CompareRequest {
  std::vector<path> files;  // the first is the baseline
  std::vector<std::string> conditions;
  analysis::ImportOptions import;
  bool json = false;
};

po::options_description compare_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("fail-if", several_words("CONDITION..")->composing(),
      "exit with status 1 if the condition holds for a run");
  add("json", "print the comparison as JSON and nothing else");
  add("help,h", "print this help");
  po::options_description measured("options for measured runs", 100);
  add_measured_options(measured);
  options.add(measured);
  return options;
}

int print_compare_help() {
  fmt::print(
      "usage: pipewright compare FIRST.h5 OTHER.. [OPTIONS]\n"
      "\n"
      "Compares runs with the first: time, bubbles, communication, memory, traffic, moved passes, "
      "and\n"
      "the settings that differ, those of their software included.\n"
      "The first is a trace of 'pipewright run --trace'. The others have one of these formats, "
      "which is\n"
      "recognised by content; a measured run has one file for each pipeline device or one file for "
      "all:\n"
      "\n"
      "{}"
      "\n"
      "  pipewright compare 1f1b.h5 zb-h1.h5\n"
      "  pipewright compare before.h5 after.h5 --fail-if 'makespan>+1%' 'peak_memory>+1GiB'\n"
      "  pipewright compare predicted.h5 'profile/rank{{rank}}.json.gz' --skip 2\n"
      "  pipewright compare predicted.h5 measured.json --fail-if 'pass_span>+5%' 'pass_span<-5%'\n"
      "  pipewright compare predicted.h5 m.json --pattern "
      "'(?<kind>fwd|bwd)/s(?<stage>\\d+)/mb(?<microbatch>\\d+)'\n"
      "  pipewright compare predicted.h5 training.log\n"
      "\n"
      "A condition is a metric, one of > < >= <=, and a change of the first run's value (+1%, "
      "-2%),\n"
      "a difference from it (+10ms, -1GiB, +0.5pp for a ratio) or a value (20s, 80GiB, 20%). For\n"
      "measured runs and logs, changes and differences are errors of the prediction, as in the "
      "column\n"
      "'error': 'pass_span<-2%' holds if the prediction is more than 2 % too short. Values are "
      "measured.\n"
      "A metric has its label in the tables (time, bubble ratio) or its JSON key with or without "
      "the\n"
      "unit: makespan_s, iteration_s, bubble_ratio, span_bubble_s, busy_s, "
      "exposed_communication_s,\n"
      "peak_memory_bytes, peak_in_flight, samples_per_s, tokens_per_s, mfu and more. Measured runs "
      "have\n"
      "iteration_s, pass_span_s, bubble_ratio, span_bubble_s; logs iteration_s, samples_per_s,\n"
      "tokens_per_gpu_s, flops_per_gpu, peak_memory_bytes; schedules displaced.\n"
      "Exit status: 0; 1 if a condition holds; 2 after an error.\n"
      "\n"
      "Named groups of --pattern are kind, stage, microbatch and device. Without --pattern, passes "
      "are\n"
      "recognised by the names of PyTorch (PP:2F0, Forward 0) and Megatron-LM "
      "(forward_step).\n\n{}",
      analysis::formats_text(), describe(compare_options()));
  return exit_ok;
}

std::vector<analysis::Condition> read_conditions(const CompareRequest& request,
                                                 const analysis::Metrics& metrics) {
  std::vector<analysis::Condition> conditions;
  for (const std::string& text : request.conditions)
    conditions.push_back(analysis::read_condition(text, metrics));
  return conditions;
}

int status(const std::vector<analysis::Judgement>& judgements) {
  return analysis::any_holds(judgements) ? exit_findings : exit_ok;
}

// Prints a comparison as text or JSON. Returns the exit status.
template <class Comparison>
int print_comparison(const CompareRequest& request, const Comparison& comparison) {
  fmt::print("{}", request.json ? json_text(comparison) : console_text(comparison));
  return status(comparison.judgements);
}

int compare_traces(const CompareRequest& request) {
  analysis::TraceComparison comparison;
  comparison.runs.push_back(analysis::read_figures(request.files.front()));
  const analysis::NamedMetrics base{comparison.runs.front().name,
                                    metrics_of(comparison.runs.front())};
  const auto conditions = read_conditions(request, base.metrics);
  std::vector<analysis::NamedMetrics> further_runs;
  for (std::size_t i = 1; i < request.files.size(); ++i) {
    analysis::RunFigures run = analysis::read_figures(request.files[i]);
    comparison.moves.push_back(analysis::compare_passes(comparison.runs.front(), run));
    run.passes = {};
    further_runs.push_back({run.name, metrics_of(run)});
    comparison.runs.push_back(std::move(run));
  }
  add_settings(comparison);
  comparison.judgements = analysis::judge(conditions, base, further_runs);
  return print_comparison(request, comparison);
}

int compare_measured_run(const CompareRequest& request) {
  const analysis::RunFigures predicted = analysis::read_figures(request.files.front());
  const auto predicted_figures = analysis::iteration_figures(predicted);
  const auto conditions = read_conditions(request, metrics_of(predicted_figures));
  const std::vector<path> files(request.files.begin() + 1, request.files.end());
  const analysis::MeasuredRun measured = read_measured(files, request.import);
  const std::string name = measured_name(files);
  analysis::MeasuredComparison comparison{
      .predicted_name = predicted.name,
      .measured_name = name,
      .predicted_run = predicted.summary.run,
      .measured_run = measured.trace.run,
      .result = analysis::compare_measured(predicted, analysis::figures_of(measured.trace, name)),
      .notes = measured.notes,
      .judgements = {}};
  const trace::RunInfo& model = comparison.predicted_run;
  const trace::RunInfo& log = comparison.measured_run;
  if (model.devices != log.devices || model.microbatches != log.microbatches)
    comparison.notes.push_back(
        fmt::format("the runs have different sizes: predicted {} devices x {} microbatches, "
                    "measured {} x {}",
                    model.devices, model.microbatches, log.devices, log.microbatches));
  comparison.judgements =
      analysis::judge_error(conditions, {predicted.name, metrics_of(predicted_figures)},
                            {name, metrics_of(comparison.result.measured)});
  return print_comparison(request, comparison);
}

int compare_with_log(const CompareRequest& request) {
  const analysis::RunFigures predicted = analysis::read_figures(request.files.front());
  analysis::LogComparison comparison =
      analysis::compare_log(predicted, analysis::read_training_log(request.files.back()),
                            {.skip = request.import.skip,
                             .run = request.import.run,
                             .flop_rules = model_flop_rules(predicted.summary.run)});
  comparison.predicted_name = predicted.name;
  comparison.measured_name = request.files.back().string();
  const analysis::NamedMetrics predicted_run{predicted.name, predicted_metrics(comparison)};
  comparison.judgements =
      analysis::judge_error(read_conditions(request, predicted_run.metrics), predicted_run,
                            {comparison.measured_name, measured_metrics(comparison)});
  return print_comparison(request, comparison);
}

int compare_with_snapshots(const CompareRequest& request) {
  const analysis::RunFigures predicted = analysis::read_figures(request.files.front());
  const std::vector<path> files(request.files.begin() + 1, request.files.end());
  analysis::SnapshotComparison comparison = analysis::compare_snapshots(predicted, files);
  comparison.predicted_name = predicted.name;
  comparison.measured_name = measured_name(files);
  const analysis::NamedMetrics predicted_run{predicted.name, predicted_metrics(comparison)};
  comparison.judgements =
      analysis::judge_error(read_conditions(request, predicted_run.metrics), predicted_run,
                            {comparison.measured_name, measured_metrics(comparison)});
  return print_comparison(request, comparison);
}

int compare_with_schedule(const CompareRequest& request) {
  analysis::RunFigures run = analysis::read_figures(request.files.front());
  // A schedule file describes one iteration, so later iterations of the run are left out.
  std::erase_if(run.passes, [](const analysis::TimedPass& pass) { return pass.key.iteration > 0; });
  const std::string file = request.files.back().string();
  const analysis::OrderComparison comparison =
      analysis::compare_orders(analysis::order_of(run.passes, run.summary.devices.size()),
                               order_of(workload::read_torch_file(file).schedule));
  const analysis::NamedMetrics base{run.name, metrics_of(analysis::OrderComparison())};
  const std::vector<analysis::NamedMetrics> runs{{file, metrics_of(comparison)}};
  const auto judgements = analysis::judge(read_conditions(request, base.metrics), base, runs);
  fmt::print("{}", request.json ? json_text(comparison, run.name, file)
                                : console_text(comparison, run.name, file));
  if (!request.json && !judgements.empty()) fmt::print("\n{}", analysis::describe(judgements));
  return status(judgements);
}

CompareRequest read_compare_request(const po::variables_map& flags) {
  CompareRequest request{.files = expand_ranks(values(flags, "file")),
                         .conditions = values(flags, "fail-if"),
                         .import = measured_options(flags),
                         .json = flags.count("json") != 0};
  if (request.files.size() < 2)
    throw UsageError(
        "compare needs two or more files, as in 'pipewright compare FIRST.h5 SECOND.h5'");
  return request;
}

}  // namespace

int compare_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, compare_options(), "file");
  if (flags.count("help") != 0) return print_compare_help();
  const CompareRequest request = read_compare_request(flags);

  std::vector<FileKind> kinds;
  for (const path& file : request.files) kinds.push_back(analysis::file_kind(file));
  const auto name = [&](std::size_t i) { return analysis::printable(request.files[i].string()); };
  if (kinds.front() != FileKind::trace)
    throw UsageError(fmt::format(
        "{} is no trace; the first file of compare must be the trace of the predicted run, which "
        "'pipewright run --trace predicted.h5' writes",
        name(0)));
  const FileKind kind = kinds[1];
  for (std::size_t i = 2; i < kinds.size(); ++i)
    if (kinds[i] != kind)
      throw UsageError(fmt::format(
          "{} and {} are different kinds of files; compare takes files of one kind after the trace",
          name(1), name(i)));
  if (kind == FileKind::trace) return compare_traces(request);
  if (kind == FileKind::chrome || kind == FileKind::primus_passes)
    return compare_measured_run(request);
  if (kind == FileKind::memory_snapshot) return compare_with_snapshots(request);
  if (kinds.size() > 2)
    throw UsageError(fmt::format("compare takes one log or schedule at a time, not {} and {}",
                                 name(1), name(2)));
  return kind == FileKind::training_log ? compare_with_log(request)
                                        : compare_with_schedule(request);
}

}  // namespace pipewright::cli
