#include "sim/cli/search/sweep_command.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/results.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_export.hpp"
#include "analysis/report/search/search_report.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/web/search/search_page.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/job/launch.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/search/decision.hpp"
#include "sim/cli/search/sweep_notes.hpp"
#include "sim/cli/search/sweep_outputs.hpp"
#include "sim/cli/search/sweep_progress.hpp"
#include "sim/config/text/error.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/search/merge.hpp"
#include "sim/search/reuse.hpp"
#include "sim/search/search.hpp"
#include "sim/search/why_not.hpp"
#include "sim/search/worker_pool.hpp"

namespace pipewright::cli {
namespace {

using analysis::SearchRun;
using std::filesystem::path;

// A search of more combinations than this needs --yes or --budget.
constexpr double max_combinations = 1e9;

void check_size(const search::Space& space, const SweepRequest& request) {
  if (space.combinations() <= max_combinations || request.yes || request.budget_s) return;
  std::string axes;
  for (const analysis::SearchAxis& axis : space.axes())
    axes += fmt::format("{}{} {}", axes.empty() ? "" : " x ", axis.values.size(), axis.name);
  throw UsageError(fmt::format("{}: {:.3g} combinations ({}) are more than {:.0e}",
                               request.file.string(), space.combinations(), axes, max_combinations))
      .suggest("reduce the values of an axis, add constraints and --yes, or set a --budget");
}

// Measures the seconds since its construction.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Throws config::Error for a sweep without candidates. Stops looking for one when the run is
// interrupted or a tenth of the budget is spent; the search samples the space then.
void check_not_empty(const search::Space& space, std::optional<double> budget_s) {
  constexpr double share_of_budget = 0.1;
  const Stopwatch watch;
  const auto stop = [&] {
    return interrupted() || (budget_s && watch.seconds() > share_of_budget * *budget_s);
  };
  if (space.is_empty(stop)) throw config::Error(space.why_empty());
}

// Index of the axis that a word of --by names. Empty for the number of GPUs (`gpus`), which is not
// an axis.
std::optional<std::size_t> axis_of_by(const std::vector<analysis::SearchAxis>& axes,
                                      const std::string& name) {
  if (name == "gpus" || name == "search.gpus") return std::nullopt;
  try {
    return analysis::axis_named(axes, name);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--by: {}", error.what()));
  }
}

// Files that the search reads and that none of its outputs may replace.
std::vector<path> files_read(const SweepRequest& request) {
  std::vector<path> files{request.file};
  files.insert(files.end(), request.shards.begin(), request.shards.end());
  files.insert(files.end(), request.reused.begin(), request.reused.end());
  return files;
}

// Throws UsageError if --candidate is not the number of a candidate.
void check_candidate(const SweepRequest& request, const search::Space& space) {
  if (!request.candidate) return;
  const std::uint64_t number = *request.candidate;
  if (static_cast<double>(number) >= space.combinations())
    throw UsageError(fmt::format("--candidate is {}; the sweep has {:.0f} combinations, from 0 on",
                                 number, space.combinations()));
  const std::optional<std::string> why = space.why_no_candidate(number);
  if (!why) return;
  const analysis::SearchRun shown{.axes = space.axes()};
  throw UsageError(fmt::format(
      "--candidate {} is {}, which is not a candidate of the sweep: {}; -o FILE.csv lists the "
      "numbers of all candidates",
      number, candidate_name(shown, analysis::CandidateRow{.candidate = number}), *why));
}

// Throws UsageError if the file of results exists: results may have cost hours and are not
// overwritten.
void check_results(const SweepRequest& request) {
  if (!request.results || request.resume) return;
  for (const char* suffix : {"", ".journal"}) {
    const std::string file = request.results->string() + suffix;
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored))
      throw UsageError(fmt::format(
          "{} holds the results of an earlier search; continue it (--resume), remove the file, or "
          "give --results another name",
          file));
  }
}

analysis::SearchRun read_results_of_search(const std::filesystem::path& file) {
  const std::filesystem::path journal = file.string() + ".journal";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) && std::filesystem::exists(journal, ignored))
    throw UsageError(fmt::format(
        "{}: the file does not exist, but {} holds the results of an unfinished search; "
        "continue it with: search SWEEP --results {} --resume",
        file.string(), journal.string(), file.string()));
  return analysis::read_results(file);
}

analysis::SearchRun read_shards(const std::vector<std::filesystem::path>& files) {
  std::vector<std::pair<std::string, analysis::SearchRun>> parts;
  for (const std::filesystem::path& file : files)
    parts.emplace_back(file.string(), read_results_of_search(file));
  return search::merge(std::move(parts));
}

// A sweep, the facts about its clusters, and the space of its candidates.
struct PreparedSweep {
  search::Sweep sweep;
  std::vector<search::ClusterFacts> facts;
  search::Space space;
};

PreparedSweep prepare(const config::Value& tree, search::Workers& workers) {
  search::Sweep sweep = search::read_sweep(tree);
  std::vector<search::ClusterFacts> facts = search::ask_facts(workers, sweep.text);
  search::Space space(sweep, facts);
  return {std::move(sweep), std::move(facts), std::move(space)};
}

// Callbacks of a search: they draw the progress bar and call `watch`.
search::SearchCalls calls_of(SweepProgress& progress, const WatchSweep& watch) {
  return {.progress =
              [&progress, watch](const search::State& state, const analysis::SearchRun& run) {
                progress.show(state, run);
                if (watch) watch(state, run);
              },
          .interrupted = interrupted};
}

// Results of candidates that the files of --reuse already contain. If several files have the same
// candidate, the first file counts.
std::vector<analysis::CandidateRow> reused_rows(const SweepRequest& request,
                                                const search::Space& space) {
  std::map<std::uint64_t, analysis::CandidateRow> rows;
  for (const path& file : request.reused) {
    const std::size_t before = rows.size();
    for (analysis::CandidateRow& row : search::reuse(read_results_of_search(file), space))
      rows.emplace(row.candidate, std::move(row));
    if (!request.quiet && !request.json)
      fmt::print(stderr, "{}: {} reused\n", file.string(),
                 analysis::counted(rows.size() - before, "candidate"));
  }
  std::vector<analysis::CandidateRow> known_rows;
  for (auto& [number, row] : rows) known_rows.push_back(std::move(row));
  return known_rows;
}

analysis::SearchRun run_sweep(const SweepRequest& request, const PreparedSweep& prepared,
                              search::Workers& workers, const WatchSweep& watch) {
  check_size(prepared.space, request);
  const Stopwatch stopwatch;
  check_not_empty(prepared.space, request.budget_s);
  std::vector<analysis::CandidateRow> known_rows = reused_rows(request, prepared.space);
  std::optional<double> budget_s = request.budget_s;
  if (budget_s && request.questions.any()) *budget_s *= search_share;
  if (budget_s) *budget_s = std::max(0.0, *budget_s - stopwatch.seconds());
  SweepProgress progress(request.quiet || request.json);
  return search::run_search(prepared.space, workers,
                            {.facts = prepared.facts,
                             .results = request.results,
                             .resume = request.resume,
                             .target = {.exhaustive = request.exhaustive, .front = request.front},
                             .budget_s = budget_s,
                             .known = std::move(known_rows)},
                            calls_of(progress, watch));
}

// Tells how to get the answers that an interrupt prevented. `is_search_complete` is false if the
// interrupt came before the end of the search.
std::vector<std::string> continuation_of(const SweepRequest& request, bool is_search_complete) {
  const std::optional<path> stored = request.has_results ? request.file : request.results;
  if (!stored)
    return {"nothing is stored: with --results FILE.h5, a command can continue after an interrupt"};
  const std::string again = fmt::format("'pipewright search {}{} ..'", stored->string(),
                                        request.questions.decision ? " --decide" : "");
  if (is_search_complete) return {again + " answers without a new search"};
  return {"the same command with --resume continues the search and then answers",
          again + " answers for the candidates so far"};
}

// Answers the questions about the winner within `budget_s` seconds. `is_search_complete` is false
// if the search was interrupted; then no question has an answer.
WinnerAnswers answer_questions(const SweepRequest& request, const WinnerParts& parts,
                               const PreparedSweep& prepared, analysis::SearchRun& run,
                               search::Workers& workers, const SweepProcesses& processes,
                               std::optional<double> budget_s) {
  if (!request.questions.any()) return {};
  search::TimeShares time(budget_s, names_of(request.questions, parts), interrupted);
  const bool is_search_complete = !interrupted();
  const bool quiet = request.quiet || request.json;
  SweepProgress progress(quiet);
  search::WhatIfRuns what_if_runs;
  if (processes.make_what_if_runs)
    what_if_runs = processes.make_what_if_runs(prepared.space, request.workers.jobs, quiet);
  const std::function<bool()> is_over = [&] { return time.is_over(); };
  search::SearchCalls calls = calls_of(progress, {});
  calls.interrupted = is_over;
  const WinnerContext context{.sweep = *request.tree,
                              .space = prepared.space,
                              .parts = parts,
                              .workers = workers,
                              .what_if_runs = std::move(what_if_runs),
                              .options = {.facts = prepared.facts, .target = {.front = false}},
                              .calls = calls,
                              .time = time};
  WinnerAnswers answers;
  std::optional<analysis::Decision> decision;
  if (is_search_complete) {
    find_next_to_best(request.questions, run, context);
    if (request.questions.decision) time.begin_next();
    const std::optional<std::size_t> best = analysis::find(run).best;
    if (request.questions.decision && best && !interrupted())
      decision = decide(run, *best,
                        {.space = prepared.space,
                         .facts = prepared.facts,
                         .costs = parts.costs,
                         .simulate_weeks = processes.simulate_weeks,
                         .stop = is_over,
                         .plan_launch = processes.plan_launch,
                         .launches = request.launches});
    if (!interrupted()) answers = answer(request.questions, run, context);
  }
  if (answers.robust) answers.decision = std::move(decision);
  answers.cut_short = time.cut_short();
  if (!interrupted()) return answers;
  answers.decision.reset();
  answers.asks_decision = request.questions.decision;
  answers.unanswered.assign(time.from_current().begin(), time.from_current().end());
  answers.continuation = continuation_of(request, is_search_complete);
  return answers;
}

// Launch commands of a candidate, for each framework that the search page shows.
std::vector<std::pair<std::string, std::string>> launches_of(const std::string& scenario,
                                                             const PlanLaunch& plan_launch) {
  std::vector<std::pair<std::string, std::string>> launches;
  if (!plan_launch) return launches;
  const config::Scenario candidate =
      config::read_scenario(config::read_yaml_text(scenario, "the candidate"));
  if (!candidate.model || !candidate.parallel.tp_by_device.empty()) return launches;
  const std::shared_ptr<const config::LaunchPlan> plan = plan_launch(candidate);
  for (const jobs::Framework& framework : jobs::frameworks()) {
    if (!framework.on_search_page || (candidate.training.lora && !framework.writes_adapters))
      continue;
    try {
      launches.emplace_back(framework.title, jobs::export_job(candidate, framework, *plan).text);
    } catch (const config::StructuredError&) {
      // The framework has no such model, so the page offers no launch for it.
    }
  }
  return launches;
}

// Prints the report, then writes the files. Returns `status`, or exit_user_error if a file cannot
// be written.
int report_search(const SweepRequest& request, const analysis::SearchRun& run,
                  const WinnerAnswers& answers, const analysis::ScenarioOf& scenario_of,
                  const PlanLaunch& plan_launch, int status) {
  const OutputTexts output_texts{
      scenario_of,
      [&](std::uint64_t candidate) { return launches_of(scenario_of(candidate), plan_launch); },
      request.candidate, answers};
  OutputFiles files;
  const auto write_files = [&] {
    for (const std::filesystem::path& file : request.outputs)
      files.write(file, [&] { write_sweep_output(file, run, output_texts); });
  };
  if (request.json) {
    print_notes(run.notes);
    analysis::write_search_json(std::cout, run, winner_json(run, answers));
    std::cout.flush();
    write_files();
    return files.status(status);
  }
  analysis::SearchReportOptions options{.top = request.top, .by = {}};
  for (const std::string& name : request.by)
    if (const std::optional<std::size_t> axis = axis_of_by(run.axes, name))
      options.by.push_back(*axis);
    else
      options.by_gpus = true;
  fmt::print("{}{}", analysis::search_report(run, options), winner_text(run, answers));
  write_files();
  if (request.results) fmt::print("results {}\n", request.results->string());
  files.print_written();
  const analysis::Findings findings = analysis::find(run);
  if (request.launches.empty() || !findings.best) return files.status(status);
  const config::Scenario best = config::read_scenario(
      config::read_yaml_text(scenario_of(run.rows[*findings.best].candidate), "the best"));
  if (prints_script(request.launches)) fmt::print("\n");
  fmt::print("{}", write_launch(best, request.launches, files_read(request), *plan_launch(best)));
  return files.status(status);
}

}  // namespace

int sweep_command(const Arguments& arguments, const SweepProcesses& processes,
                  const WatchSweep& watch, const std::optional<config::Value>& tree) {
  Arguments words = arguments;
  if (tree) words.insert(words.begin(), "the sweep");  // the name of the sweep in messages
  const po::variables_map options = parse(words, sweep_options(), "scenario");
  if (options.count("help") != 0) {
    print_sweep_help();
    return exit_ok;
  }
  SweepRequest request = read_sweep_request(options, tree);
  check_sweep_outputs(request.outputs);
  std::vector<std::filesystem::path> written = request.outputs;
  if (request.results) written.push_back(*request.results);
  for (const path& file : launch_files(request.launches)) written.push_back(file);
  check_files(files_read(request), written);
  check_results(request);
  if (request.questions.decision && !processes.simulate_weeks)
    throw UsageError(
        "--decide works on one machine only; store the results with --results FILE.h5, and run "
        "'pipewright search FILE.h5 --decide'");
  if (request.questions.robust && !processes.make_what_if_runs)
    throw UsageError(
        "--robust works on one machine only; store the results with --results FILE.h5, and run "
        "'pipewright search FILE.h5 --robust'");
  if (!request.launches.empty() && !processes.plan_launch)
    throw UsageError(
        "--launch works on one machine only; store the results with --results FILE.h5, and run "
        "'pipewright search FILE.h5 --launch'");

  // --candidate only has an effect on an output of a scenario.
  const auto is_scenario = [](const path& file) { return file.extension() == ".yaml"; };
  if (request.candidate && std::ranges::none_of(request.outputs, is_scenario))
    throw UsageError(
        "--candidate selects the candidate that is written as a scenario, but no output is a "
        "scenario")
        .suggest(fmt::format("add -o candidate-{}.yaml", *request.candidate));

  // A file of results contains the sweep of its search. One worker suffices to read the facts of
  // that sweep's clusters.
  std::optional<analysis::SearchRun> earlier;
  if (!request.tree) {
    earlier =
        request.shards.empty() ? read_results_of_search(request.file) : read_shards(request.shards);
    request.tree = config::read_yaml_text(earlier->sweep, request.file.string() + " (its sweep)");
    if (!request.questions.any()) request.workers.jobs = 1;
  }
  watch_for_interrupts();
  const Stopwatch stopwatch;
  const std::unique_ptr<search::Workers> workers = processes.make_workers(request.workers);
  const PreparedSweep prepared = prepare(*request.tree, *workers);
  check_candidate(request, prepared.space);
  for (const std::string& axis : request.by) axis_of_by(prepared.space.axes(), axis);
  const WinnerParts parts = parts_of(request.questions, *request.tree, prepared.facts);
  const analysis::ScenarioOf scenario_of = [&](std::uint64_t candidate) {
    return config::to_yaml(prepared.space.candidate(candidate));
  };
  analysis::SearchRun run =
      earlier ? std::move(*earlier) : run_sweep(request, prepared, *workers, watch);
  // Results do not store the number of their shard, but the sweep that they contain does.
  run.shard = {prepared.sweep.shard.number, prepared.sweep.shard.count};
  std::optional<double> rest_s = request.budget_s;
  if (rest_s) *rest_s = std::max(0.0, *rest_s - stopwatch.seconds());
  const WinnerAnswers answers =
      answer_questions(request, parts, prepared, run, *workers, processes, rest_s);
  const std::optional<std::size_t> best = analysis::find(run).best;
  const int status = best ? exit_ok : exit_findings;
  run.notes = sweep_notes(*request.tree, prepared.space, prepared.facts, run);
  const int report_status =
      report_search(request, run, answers, scenario_of, processes.plan_launch, status);
  return interrupted() ? exit_interrupted : report_status;
}

}  // namespace pipewright::cli
