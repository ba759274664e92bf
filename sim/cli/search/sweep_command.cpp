#include "sim/cli/search/sweep_command.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "analysis/search/findings.hpp"
#include "analysis/search/results.hpp"
#include "analysis/search/rows.hpp"
#include "analysis/search/search_export.hpp"
#include "analysis/search/search_page.hpp"
#include "analysis/search/search_report.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"
#include "analysis/units_text.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/job/launch.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/search/sweep_progress.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/search/merge.hpp"
#include "sim/search/reuse.hpp"
#include "sim/search/search.hpp"
#include "sim/search/why_not.hpp"
#include "sim/search/worker_pool.hpp"

namespace pipewright::cli {
namespace {

using analysis::ScenarioOf;
using analysis::SearchRun;
using std::filesystem::path;

// What is written of a candidate.
struct Texts {
  ScenarioOf scenario_of;
  analysis::LaunchesOf launches_of;
  std::optional<std::uint64_t> candidate;  // that is written as a scenario; else the best
  const WinnerAnswers& answers;
};

void write_page(const path& file, const SearchRun& run, const Texts& texts) {
  analysis::write_search_page(file, run, texts.scenario_of, texts.launches_of,
                              winner_words(run, texts.answers));
}

void write_scenario(const path& file, const SearchRun& run, const Texts& texts) {
  if (texts.candidate) {
    trace::write_file(file, texts.scenario_of(*texts.candidate));
    return;
  }
  const analysis::Findings findings = analysis::find(run);
  if (!findings.best)
    throw trace::TraceError(
        fmt::format("{}: nothing was found, so there is no best scenario to write", file.string()));
  trace::write_file(file, texts.scenario_of(run.rows[*findings.best].candidate));
}

void write_csv(const path& file, const SearchRun& run, const Texts&) {
  trace::write_file(file, [&](std::ostream& stream) { analysis::write_search_csv(stream, run); });
}

void write_json(const path& file, const SearchRun& run, const Texts& texts) {
  trace::write_file(file, [&](std::ostream& stream) {
    analysis::write_search_json(stream, run, winner_json(run, texts.answers));
  });
}

void write_hdf5(const path& file, const SearchRun& run, const Texts&) {
  analysis::write_results(file, run);
}

struct Kind {
  const char* extension;
  void (*write)(const path&, const SearchRun&, const Texts&);
};
constexpr std::array kinds{
    Kind{".html", write_page}, Kind{".yaml", write_scenario}, Kind{".csv", write_csv},
    Kind{".json", write_json}, Kind{".h5", write_hdf5},
};

const Kind* kind_of(const std::filesystem::path& file) {
  const auto* const found = std::ranges::find_if(
      kinds, [&](const Kind& kind) { return file.extension() == kind.extension; });
  return found == kinds.end() ? nullptr : found;
}

// Throws UsageError for a file whose kind or folder is not known.
void check_sweep_outputs(std::span<const std::filesystem::path> files) {
  for (const std::filesystem::path& file : files) {
    if (kind_of(file) == nullptr)
      throw UsageError(
          fmt::format("{}: the extension says what is written; there are .html (page), .yaml (the "
                      "best as a scenario), .csv, .json and .h5 (all candidates)",
                      file.string()));
    const std::filesystem::path folder = file.parent_path();
    std::error_code ignored;
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
      throw UsageError(fmt::format("{}: there is no folder {}", file.string(), folder.string()));
  }
}

// Each by its extension: the page, the best as a scenario, or all candidates.
void write_sweep_output(const std::filesystem::path& file, const analysis::SearchRun& run,
                        const Texts& texts) {
  kind_of(file)->write(file, run, texts);
}

// More than this is not begun unasked: counted, not enumerated.
constexpr double most_combinations = 1e9;

void check_size(const search::Space& space, const SweepRequest& request) {
  if (space.combinations() <= most_combinations || request.yes || request.budget_s) return;
  std::string axes;
  for (const analysis::SearchAxis& axis : space.axes())
    axes += fmt::format("{}{} {}", axes.empty() ? "" : " x ", axis.values.size(), axis.name);
  throw UsageError(fmt::format(
      "{}: {:.3g} combinations ({}) are more than {:.0e}; narrow a value, add constraints that cut "
      "the space early and say --yes, or give a --budget",
      request.file.string(), space.combinations(), axes, most_combinations));
}

void check_not_empty(const search::Space& space) {
  bool any = false;
  space.for_each_layout([&](std::uint64_t, std::span<const std::uint32_t>) {
    any = true;
    return false;
  });
  if (!any) throw config::Error(space.why_empty());
}

// Nothing for the number of GPUs, which is no axis but follows from several.
std::optional<std::size_t> axis_of(const std::vector<analysis::SearchAxis>& axes,
                                   const std::string& name) {
  if (name == "gpus" || name == "search.gpus") return std::nullopt;
  try {
    return analysis::axis_named(axes, name);
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("--by: {}", error.what()));
  }
}

// Numbers below that of combinations are candidates where no rule cuts them away.
void check_candidate(const SweepRequest& request, const search::Space& space,
                     const std::vector<search::ClusterFacts>& facts) {
  if (!request.candidate) return;
  const std::uint64_t number = *request.candidate;
  if (static_cast<double>(number) >= space.combinations())
    throw UsageError(fmt::format("--candidate {}: the sweep has {:.0f} combinations, from 0 on",
                                 number, space.combinations()));
  const std::optional<std::string> why = search::why_no_candidate(number, space, facts);
  if (!why) return;
  const analysis::SearchRun shown{.axes = space.axes()};
  throw UsageError(fmt::format(
      "--candidate {} is {}, which is no candidate of the sweep: {}; those that are have their "
      "numbers in -o FILE.csv",
      number, named(shown, analysis::CandidateRow{.candidate = number}), *why));
}

// Results are never written over unasked: they may have cost hours.
void check_results(const SweepRequest& request) {
  if (!request.results || request.resume) return;
  for (const char* suffix : {"", ".journal"}) {
    const std::string file = request.results->string() + suffix;
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored))
      throw UsageError(fmt::format(
          "{} holds what an earlier search found; go on with it (--resume), remove it, or give "
          "--results another name",
          file));
  }
}

analysis::SearchRun read_earlier(const std::filesystem::path& file) {
  const std::filesystem::path journal = file.string() + ".journal";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) && std::filesystem::exists(journal, ignored))
    throw UsageError(
        fmt::format("{}: there are no results yet; {} holds what a search found before it was "
                    "ended: search SWEEP --results {} --resume goes on with it",
                    file.string(), journal.string(), file.string()));
  return analysis::read_results(file);
}

analysis::SearchRun read_shards(const std::vector<std::filesystem::path>& files) {
  std::vector<std::pair<std::string, analysis::SearchRun>> parts;
  for (const std::filesystem::path& file : files)
    parts.emplace_back(file.string(), read_earlier(file));
  return search::merge(std::move(parts));
}

// What is searched, or was.
struct Prepared {
  search::Sweep sweep;
  std::vector<search::ClusterFacts> facts;
  search::Space space;
};

Prepared prepare(const config::Value& tree, search::Workers& workers) {
  search::Sweep sweep = search::read_sweep(tree);
  std::vector<search::ClusterFacts> facts = search::ask_facts(workers, sweep.text);
  search::Space space(sweep, facts);
  return {std::move(sweep), std::move(facts), std::move(space)};
}

// How far a search is, beside the bar too.
search::SearchCalls calls_of(SweepProgress& progress, const WatchSweep& watch) {
  return {.progress =
              [&](const search::State& state, const analysis::SearchRun& run) {
                progress.show(state, run);
                if (watch) watch(state, run);
              },
          .interrupted = interrupted};
}

// Of each candidate what the first of these knows.
std::vector<analysis::CandidateRow> reuse(const SweepRequest& request, const search::Space& space) {
  std::map<std::uint64_t, analysis::CandidateRow> rows;
  for (const path& file : request.reused) {
    const std::size_t before = rows.size();
    for (analysis::CandidateRow& row : search::reuse(read_earlier(file), space))
      rows.emplace(row.candidate, std::move(row));
    if (!request.quiet && !request.json)
      fmt::print(stderr, "{}: {} known from it\n", file.string(),
                 analysis::counted(rows.size() - before, "candidate") +
                     (rows.size() - before == 1 ? " is" : " are"));
  }
  std::vector<analysis::CandidateRow> known;
  for (auto& [number, row] : rows) known.push_back(std::move(row));
  return known;
}

analysis::SearchRun search_anew(const SweepRequest& request, const Prepared& prepared,
                                search::Workers& workers, const WatchSweep& watch) {
  check_size(prepared.space, request);
  check_not_empty(prepared.space);
  SweepProgress progress(request.quiet || request.json);
  return search::run_search(prepared.space, workers,
                            {.facts = prepared.facts,
                             .results = request.results,
                             .resume = request.resume,
                             .aim = {.exhaustive = request.exhaustive, .front = request.front},
                             .budget_s = request.budget_s,
                             .known = reuse(request, prepared.space)},
                            calls_of(progress, watch));
}

WinnerAnswers ask(const SweepRequest& request, const WinnerParts& parts, const Prepared& prepared,
                  analysis::SearchRun& run, search::Workers& workers, const SweepMeans& means) {
  if (interrupted() || !request.questions.any()) return {};
  const bool quiet = request.quiet || request.json;
  SweepProgress progress(quiet);
  search::Trials trials;
  if (means.make_trials) trials = means.make_trials(prepared.space, request.workers.jobs, quiet);
  return answer(
      request.questions, run,
      {.sweep = *request.tree,
       .space = prepared.space,
       .parts = parts,
       .workers = workers,
       .trials = std::move(trials),
       .options = {.facts = prepared.facts, .aim = {.front = false}, .budget_s = request.budget_s},
       .calls = calls_of(progress, {})});
}

// What starts a candidate, by each framework that can say a part of it.
std::vector<std::pair<std::string, std::string>> launches_of(const std::string& scenario) {
  std::vector<std::pair<std::string, std::string>> texts;
  const config::Scenario read =
      config::read_scenario(config::read_yaml_text(scenario, "the candidate"));
  using jobs::Framework;
  if (!read.model || !read.parallel.tp_by_device.empty()) return texts;
  for (const Framework one :
       {Framework::megatron, Framework::bridge, Framework::torchtitan, Framework::deepspeed})
    texts.emplace_back(jobs::title_of(one), jobs::export_job(read, one).text);
  return texts;
}

// Prints the report, then writes the files. Returns `status`, or exit_user_error if a file cannot
// be written.
int report(const SweepRequest& request, const analysis::SearchRun& run,
           const WinnerAnswers& answers, const analysis::ScenarioOf& scenario_of, int status) {
  const Texts texts{scenario_of,
                    [&](std::uint64_t candidate) { return launches_of(scenario_of(candidate)); },
                    request.candidate, answers};
  OutputFiles files;
  const auto write_files = [&] {
    for (const std::filesystem::path& file : request.outputs)
      files.write(file, [&] { write_sweep_output(file, run, texts); });
  };
  if (request.json) {
    analysis::write_search_json(std::cout, run, winner_json(run, answers));
    std::cout.flush();
    write_files();
    return files.status(status);
  }
  analysis::SearchReportOptions options{.top = request.top, .by = {}};
  for (const std::string& name : request.by)
    if (const std::optional<std::size_t> axis = axis_of(run.axes, name))
      options.by.push_back(*axis);
    else
      options.by_gpus = true;
  fmt::print("{}{}", analysis::search_report(run, options), winner_text(run, answers));
  write_files();
  if (request.results) fmt::print("results {}\n", request.results->string());
  files.print_written();
  const analysis::Findings findings = analysis::find(run);
  if (request.launches.empty() || !findings.best) return files.status(status);
  const std::string best = scenario_of(run.rows[*findings.best].candidate);
  fmt::print("{}", write_launch(config::read_scenario(config::read_yaml_text(best, "the best")),
                                request.launches));
  return files.status(status);
}

}  // namespace

int sweep_command(const Arguments& arguments, const SweepMeans& means, const WatchSweep& watch,
                  const std::optional<config::Value>& tree) {
  const po::variables_map given = parse(arguments, sweep_options(), "scenario");
  if (given.count("help") != 0) {
    print_sweep_help();
    return exit_ok;
  }
  SweepRequest request = read_sweep_request(given, tree);
  check_sweep_outputs(request.outputs);
  std::vector<std::filesystem::path> written = request.outputs;
  if (request.results) written.push_back(*request.results);
  check_files(std::vector{request.file}, written);
  check_results(request);
  if (request.questions.robust && !means.make_trials)
    throw UsageError(
        "--robust works on one machine: keep the results with --results FILE.h5, and ask "
        "'pipewright search FILE.h5 --robust'");

  // The extension says what is written, so that only an output of .yaml can be meant.
  const auto is_scenario = [](const path& file) { return file.extension() == ".yaml"; };
  if (request.candidate && std::ranges::none_of(request.outputs, is_scenario))
    throw UsageError(fmt::format(
        "--candidate {0} says which candidate is written as a scenario, and no output is one; add "
        "-o candidate-{0}.yaml",
        *request.candidate));

  // Results tell their sweep, of which one worker knows the clusters.
  std::optional<analysis::SearchRun> earlier;
  if (!request.tree) {
    earlier = request.shards.empty() ? read_earlier(request.file) : read_shards(request.shards);
    request.tree = config::read_yaml_text(earlier->sweep, request.file.string() + " (its sweep)");
    if (!request.questions.any()) request.workers.jobs = 1;
  }
  watch_for_interrupts();
  const std::unique_ptr<search::Workers> workers = means.make_workers(request.workers);
  const Prepared prepared = prepare(*request.tree, *workers);
  check_candidate(request, prepared.space, prepared.facts);
  for (const std::string& axis : request.by) axis_of(prepared.space.axes(), axis);
  const WinnerParts parts = parts_of(request.questions, *request.tree, prepared.facts);
  const analysis::ScenarioOf scenario_of = [&](std::uint64_t candidate) {
    return config::to_yaml(prepared.space.candidate(candidate));
  };
  analysis::SearchRun run =
      earlier ? std::move(*earlier) : search_anew(request, prepared, *workers, watch);
  // Results of before do not tell it, but their sweep does.
  run.shard = {prepared.sweep.shard.number, prepared.sweep.shard.count};
  const WinnerAnswers answers = ask(request, parts, prepared, run, *workers, means);
  const int status = analysis::find(run).best ? exit_ok : exit_findings;
  const int status_of_report = report(request, run, answers, scenario_of, status);
  return interrupted() ? exit_interrupted : status_of_report;
}

}  // namespace pipewright::cli
