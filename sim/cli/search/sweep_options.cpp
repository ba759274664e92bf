#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "analysis/report/search/search_export.hpp"
#include "sim/base/numbers.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"
#include "sim/jobs/job.hpp"
#include "sim/sweep/sweep.hpp"

namespace pipewright::cli {
namespace {

std::optional<std::string> option_word(const po::variables_map& options, const std::string& name) {
  const std::vector<std::string> words = values(options, name);
  if (words.empty()) return std::nullopt;
  return single(words, "--" + name);
}

std::size_t option_count(const po::variables_map& options, const std::string& name,
                         std::size_t default_count) {
  const std::optional<std::string> text = option_word(options, name);
  if (!text) return default_count;
  return config::read_count({config::make_text(*text, {}), "--" + name}, "8");
}

std::uint64_t read_candidate(const std::string& text) {
  const std::optional<std::uint64_t> number = base::parse_number<std::uint64_t>(text);
  if (!number)
    throw UsageError(fmt::format("--candidate is '{}'", text))
        .allow("the number of a candidate, as in --candidate 12 (the first column of -o FILE.csv)");
  return *number;
}

template <class Number>
Number positive_limit(Number value, const char* flag) {
  if (value <= 0)
    throw UsageError(fmt::format("{} is 0", flag)).suggest("leave it out for no limit");
  return value;
}

// Results to be merged: those of `search merge a.h5 b.h5`, or of `search a.h5 b.h5`.
std::vector<std::filesystem::path> shards_to_merge(const po::variables_map& options) {
  std::vector<std::string> words = values(options, "scenario");
  const bool is_merge = !words.empty() && words.front() == "merge";
  if (is_merge) words.erase(words.begin());
  if (!is_merge && words.size() < 2) return {};
  std::vector<std::filesystem::path> files(words.begin(), words.end());
  const auto is_no_result = [](const auto& file) { return file.extension() != ".h5"; };
  const auto no_result = std::ranges::find_if(files, is_no_result);
  if (is_merge && files.empty())
    throw UsageError("search merge needs the results of the shards (.h5)");
  if (is_merge && no_result != files.end())
    throw UsageError(
        fmt::format("merge: '{}' is not a file of results (.h5)", no_result->string()));
  return no_result == files.end() ? files : std::vector<std::filesystem::path>();
}

}  // namespace

po::options_description sweep_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("jobs,j", several_words("N"), "number of worker processes (one per core)");
  add("budget", several_words("TIME"),
      "time limit of the command, such as '60 s'; the report says how far the best can be from the "
      "optimum. With questions about the winner (--decide, --robust, --why-not, --costs), the "
      "search gets half of the time; the questions share the rest equally, and the report lists "
      "those that were cut short");
  add("exhaustive",
      "simulate every candidate that fits into memory, as a check: the best must be "
      "the same");
  add("no-front", "prove only the best, and not the Pareto front of throughput against memory");
  add("results", several_words("FILE.h5"),
      "store every candidate with its figures in this file during the search");
  add("shard", several_words("K/N"),
      "search one of N parts of the sweep, such as 3/64; 'search merge *.h5' merges their results");
  add("resume", "continue from the results that --results already contains");
  add("reuse", several_words("FILE.h5..")->composing(),
      "take the results of candidates that other sweeps, narrower or wider ones, have already "
      "simulated");
  add("time-limit", several_words("TIME"), "time limit of one simulation (none)");
  add("worker-memory", several_words("SIZE"), "memory limit of one simulation (none)");
  add("yes", "search even if there are more than a billion combinations");
  add("output,o", several_words("FILE..")->composing(),
      "files to write: .html (page), .yaml (the best as a scenario), .csv, .json or .h5");
  add("candidate", several_words("N"),
      "number of the candidate to write as the scenario (.yaml) instead of the best");
  add("by", several_words("AXIS..")->composing(),
      "print the best for each value of an axis, such as schedule, or of gpus");
  add("launch", several_words("F..")->composing(),
      fmt::format(
          "print the launch command of the best for a framework ({}); F:FILE writes it to a "
          "file",
          jobs::writable_frameworks())
          .c_str());
  add_winner_options(options);
  add("top", several_words("N"), "number of best candidates to print (10)");
  add("json", "print the result as JSON and nothing else");
  add("quiet,q", "show no progress");
  add_scenario_options(options, std::array<std::string_view, 1>{"cluster"});
  add_gpus_option(options);
  add_bash_option(options);
  add("help,h", "print this help");
  return options;
}

SweepRequest read_sweep_request(const po::variables_map& options,
                                const std::optional<config::Value>& tree) {
  const std::vector<std::filesystem::path> shards = shards_to_merge(options);
  std::optional<std::filesystem::path> file =
      shards.empty() ? scenario_file(options) : std::optional(shards.front());
  if (!file)
    throw UsageError("search needs a sweep (a YAML file), or the results of a search (.h5)");
  SweepRequest request{.file = *file, .workers = read_worker_settings(options), .shards = shards};
  const bool has_results = file->extension() == ".h5";
  request.has_results = has_results;
  // The flag --shard belongs to parallel.shard in scenarios; a search sets that key with --set.
  po::variables_map keys = options;
  keys.erase("shard");
  if (!has_results) request.tree = tree ? *tree : scenario_tree(keys);
  if (const auto text = option_word(options, "shard")) {
    if (has_results) throw UsageError("--shard needs a sweep, not results").suggest("leave it out");
    config::set_key(*request.tree, "search.shard", config::make_text(*text, {.source = "--shard"}));
  }
  if (const auto text = option_word(options, "budget"))
    request.budget_s = config::parse_time(*text, "--budget", "a budget");
  request.launches = parse_launch(values(options, "launch"));
  request.exhaustive = options.count("exhaustive") != 0;
  request.front = options.count("no-front") == 0;
  if (const auto text = option_word(options, "results")) request.results = *text;
  request.resume = options.count("resume") != 0;
  if (request.resume && !request.results)
    throw UsageError("--resume needs the results to continue from")
        .suggest("add --results FILE.h5");
  for (const std::string& results : values(options, "reuse")) request.reused.emplace_back(results);
  if (has_results && !request.reused.empty())
    throw UsageError("--reuse needs a sweep, not results").suggest("give the sweep");
  if (request.results && request.results->extension() != ".h5")
    throw UsageError(fmt::format("--results is '{}'", request.results->string()))
        .allow("a file name that ends in .h5");
  if (has_results && options.count("set") != 0)
    throw UsageError(
        fmt::format("--set: {} holds results, whose sweep cannot be changed", file->string()))
        .suggest("give the sweep instead");
  request.questions = read_winner_questions(options);
  const bool is_new_search = request.budget_s && !request.questions.any();
  if (has_results && (request.results || is_new_search || request.exhaustive))
    throw UsageError(fmt::format("{} holds results, which are only shown", file->string()))
        .suggest("give the sweep to continue the search");
  request.yes = options.count("yes") != 0;
  for (const std::string& output : values(options, "output")) request.outputs.emplace_back(output);
  if (const auto text = option_word(options, "candidate"))
    request.candidate = read_candidate(*text);
  request.by = values(options, "by");
  request.top = option_count(options, "top", request.top);
  request.json = options.count("json") != 0;
  request.quiet = options.count("quiet") != 0;
  return request;
}

std::vector<std::string> worker_words(const worker::WorkerSettings& settings) {
  std::vector<std::string> words{"search", "--serve"};
  if (settings.time_limit_s > 0) {
    words.emplace_back("--time-limit");
    words.push_back(fmt::format("{} s", settings.time_limit_s));
  }
  if (settings.memory_bytes > 0) {
    words.emplace_back("--worker-memory");
    words.push_back(fmt::format("{} B", settings.memory_bytes));
  }
  return words;
}

worker::WorkerSettings read_worker_settings(const po::variables_map& options) {
  worker::WorkerSettings settings;
  settings.jobs = option_count(options, "jobs", std::max(1U, std::thread::hardware_concurrency()));
  if (const auto text = option_word(options, "time-limit"))
    settings.time_limit_s =
        positive_limit(config::parse_time(*text, "--time-limit", "a limit"), "--time-limit");
  if (const auto text = option_word(options, "worker-memory"))
    settings.memory_bytes =
        positive_limit(config::parse_size(*text, "--worker-memory", "a limit"), "--worker-memory");
  return settings;
}

void print_sweep_help() {
  fmt::print(
      "usage: pipewright search SWEEP [OPTIONS]\n\n"
      "Finds the best of many scenarios: the layout, schedule, microbatch size and recomputation.\n"
      "SWEEP is a scenario whose keys may have several values, with an objective:\n\n"
      "  cluster: dgx-a100-96\n"
      "  model: gpt3-175b\n"
      "  parallel: {{tp: auto, pp: auto, sp: true, zero: [0, 1]}}    # dp follows from the GPUs\n"
      "  schedule: [1f1b, zb-v, {{name: interleaved-1f1b, chunks: [2, 3]}}, searched]\n"
      "  training: {{microbatch_size: 1..4, recompute: auto}}\n"
      "  global_batch: 768\n"
      "  search:\n"
      "    gpus: 384\n"
      "    constraints: [tp <= gpus_per_node, microbatches >= 2 * pp]\n"
      "    objective: throughput\n\n"
      "Every candidate gets a lower bound of its cost, a rough one first. Candidates that may "
      "still\n"
      "be best get closer bounds and are simulated, until no other candidate can be better. So "
      "the\n"
      "best is the one that simulating every candidate would find, and a search that is stopped\n"
      "reports how much better another candidate can be.\n\n"
      "  pipewright search sweep.yaml\n"
      "  pipewright search sweep.yaml -o sweep.html best.yaml --by schedule\n"
      "  pipewright search sweep.yaml --results sweep.h5 --budget '10 min'\n"
      "  pipewright search sweep.yaml --results sweep.h5 --resume\n"
      "  pipewright search wider.yaml --reuse sweep.h5           # simulate new candidates only\n"
      "  pipewright search sweep.h5 -o sweep.html sweep.csv      # show results again\n"
      "  pipewright search sweep.yaml --shard 3/64 --results part-3.h5   # one job of 64\n"
      "  pipewright search merge part-*.h5 -o sweep.html\n"
      "  pipewright search sweep.h5 --why-not 'tp == 8'          # the best with tp 8, and its "
      "loss\n"
      "  pipewright search sweep.h5 --robust                     # how certain is the winner?\n"
      "  pipewright search two.yaml --costs tokens=300B deadline=60d dgx-a100=1.8 dgx-h100=2.9\n"
      "  mpirun -n 64 pipewright-mpi search sweep.yaml           # on many machines\n\n"
      "Exit status 1: no candidate was found; 130: interrupted, and the results so far are "
      "written.\n\n"
      "Values: a list [1, 2, 4], a range 1..8, '8..64 step 8' or '1..64 x2', or auto: all "
      "possible\n"
      "values. Where a list is a single value (as for pass times), write alternatives as\n"
      "{{any_of: [.., ..]}}.\n\n"
      "{}\nkeys of the section 'search':\n",
      describe(sweep_options()));
  for (const config::KeyRow& key : search::sweep_keys())
    fmt::print("  {:<12} {}\n", key.name, help_line(key));
  fmt::print("{}\nAll other keys are those of scenarios: 'pipewright run --help'.\n\n{}",
             winner_help(), analysis::figures_help());
}

}  // namespace pipewright::cli
