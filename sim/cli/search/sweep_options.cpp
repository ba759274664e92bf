#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "sim/cli/options.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"
#include "sim/jobs/job.hpp"
#include "sim/search/space/sweep.hpp"

namespace pipewright::cli {
namespace {

std::optional<std::string> word(const po::variables_map& given, const std::string& name) {
  const std::vector<std::string> words = values(given, name);
  if (words.empty()) return std::nullopt;
  return single(words, "--" + name);
}

std::size_t count(const po::variables_map& given, const std::string& name, std::size_t otherwise) {
  const std::optional<std::string> text = word(given, name);
  if (!text) return otherwise;
  return config::read_count({config::make_text(*text, {}), "--" + name}, "8");
}

std::uint64_t read_candidate(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [read_to, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || read_to != end)
    throw UsageError(fmt::format(
        "--candidate is '{}'; give the number of a candidate, as in --candidate 12 (the first "
        "column of -o FILE.csv)",
        text));
  return number;
}

template <class Number>
Number limit(Number value, const char* flag) {
  if (value <= 0) throw UsageError(fmt::format("{} is 0; leave it out for no limit", flag));
  return value;
}

// search merge a.h5 b.h5, or a.h5 b.h5 alone: the results of shards.
std::vector<std::filesystem::path> shards_of(const po::variables_map& given) {
  std::vector<std::string> words = values(given, "scenario");
  const bool asked = !words.empty() && words.front() == "merge";
  if (asked) words.erase(words.begin());
  if (!asked && words.size() < 2) return {};
  std::vector<std::filesystem::path> files(words.begin(), words.end());
  const auto is_other = [](const auto& file) { return file.extension() != ".h5"; };
  const auto other = std::ranges::find_if(files, is_other);
  if (asked && files.empty())
    throw UsageError("merge: which results? Give the .h5 files of the shards");
  if (asked && other != files.end())
    throw UsageError(fmt::format("merge: '{}' is no file of results (.h5)", other->string()));
  return other == files.end() ? files : std::vector<std::filesystem::path>();
}

}  // namespace

po::options_description sweep_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("jobs,j", several_words("N"), "worker processes (as many as there are cores)");
  add("budget", several_words("TIME"),
      "stop after so long (\"60 s\"), and say how good the best must be");
  add("exhaustive", "simulate all that fits: the same best, as a check");
  add("no-front", "prove the best alone, and not the front of throughput against memory");
  add("results", several_words("FILE.h5"),
      "keep every candidate with its figures here as they come");
  add("shard", several_words("K/N"),
      "search one of N parts of the sweep, as a job of an array does: 'search merge *.h5' puts "
      "their "
      "results together");
  add("resume", "go on with the results that are there");
  add("reuse", several_words("FILE.h5..")->composing(),
      "take from results of other sweeps, narrower or wider ones, what they know of this one's "
      "candidates");
  add("time-limit", several_words("TIME"), "of one simulation (none)");
  add("worker-memory", several_words("SIZE"), "of one simulation (none)");
  add("yes", "search a space of any size");
  add("output,o", several_words("FILE..")->composing(),
      "write .html (page), .yaml (the best as a scenario), .csv, .json or .h5");
  add("candidate", several_words("N"),
      "write this candidate as the scenario (.yaml), and not the best");
  add("by", several_words("AXIS..")->composing(),
      "print the best for each value of an axis, as schedule, or of gpus");
  add("launch", several_words("F..")->composing(),
      fmt::format("print the launch of the best for a framework ({}); F:FILE writes it",
                  jobs::writable_frameworks())
          .c_str());
  add_winner_options(options);
  add("top", several_words("N"), "print so many of the best (10)");
  add("json", "print the result as JSON and nothing else");
  add("quiet,q", "no progress");
  add_file_options(options);
  add("help,h", "this text");
  return options;
}

SweepRequest read_sweep_request(const po::variables_map& given,
                                const std::optional<config::Value>& tree) {
  const std::vector<std::filesystem::path> shards = shards_of(given);
  std::optional<std::filesystem::path> file =
      shards.empty() ? scenario_file(given) : std::optional(shards.front());
  if (!file && tree) file = "the sweep";
  if (!file)
    throw UsageError("search: which sweep? Give a YAML file, or the results of a search (.h5)");
  SweepRequest request{.file = *file, .workers = read_worker_settings(given), .shards = shards};
  const bool shown_again = file->extension() == ".h5";
  // A scenario has a --shard too, parallel.shard, which is --set here.
  po::variables_map keys = given;
  keys.erase("shard");
  if (!shown_again) request.tree = tree ? *tree : scenario_tree(keys);
  if (const auto text = word(given, "shard")) {
    if (shown_again)
      throw UsageError("--shard is of a sweep, and results are shown again; leave it out");
    config::set_key(*request.tree, "search.shard", config::make_text(*text, {.source = "--shard"}));
  }
  if (const auto text = word(given, "budget"))
    request.budget_s = config::parse_time(*text, "--budget", "a budget");
  request.launches = parse_launch(values(given, "launch"));
  request.exhaustive = given.count("exhaustive") != 0;
  request.front = given.count("no-front") == 0;
  if (const auto text = word(given, "results")) request.results = *text;
  request.resume = given.count("resume") != 0;
  if (request.resume && !request.results)
    throw UsageError("--resume goes on with the results of --results FILE.h5; give that as well");
  for (const std::string& results : values(given, "reuse")) request.reused.emplace_back(results);
  if (shown_again && !request.reused.empty())
    throw UsageError("--reuse is of a sweep that is searched; give the sweep, and not results");
  if (request.results && request.results->extension() != ".h5")
    throw UsageError(fmt::format("--results is '{}'; the name of an HDF5 file ends in .h5",
                                 request.results->string()));
  if (shown_again && given.count("set") != 0)
    throw UsageError(
        fmt::format("--set: {} holds results, whose sweep is as it was searched; give the sweep to "
                    "search another",
                    file->string()));
  const bool goes_on = request.budget_s && !request.questions.any();
  if (shown_again && (request.results || goes_on || request.exhaustive))
    throw UsageError(fmt::format(
        "search: {} holds results, which are shown again; give the sweep to go on searching",
        file->string()));
  request.yes = given.count("yes") != 0;
  for (const std::string& output : values(given, "output")) request.outputs.emplace_back(output);
  if (const auto text = word(given, "candidate")) request.candidate = read_candidate(*text);
  request.by = values(given, "by");
  request.questions = read_winner_questions(given);
  request.top = count(given, "top", request.top);
  request.json = given.count("json") != 0;
  request.quiet = given.count("quiet") != 0;
  return request;
}

std::vector<std::string> worker_words(const WorkerSettings& settings) {
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

WorkerSettings read_worker_settings(const po::variables_map& given) {
  WorkerSettings settings;
  settings.jobs = count(given, "jobs", std::max(1U, std::thread::hardware_concurrency()));
  if (const auto text = word(given, "time-limit"))
    settings.time_limit_s =
        limit(config::parse_time(*text, "--time-limit", "a limit"), "--time-limit");
  if (const auto text = word(given, "worker-memory"))
    settings.memory_bytes =
        limit(config::parse_size(*text, "--worker-memory", "a limit"), "--worker-memory");
  return settings;
}

void print_sweep_help() {
  fmt::print(
      "usage: pipewright search SWEEP [OPTIONS]\n\n"
      "Finds the best of many scenarios: which layout, schedule, microbatch, recomputation. SWEEP\n"
      "is a scenario in which values may be several, and which says what is best:\n\n"
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
      "Every candidate has a bound that no simulation can beat, a rough one first; those that may\n"
      "still be best get closer ones and are simulated, until nothing left can be better. So the\n"
      "best is the one that simulating everything would find, and a search that is stopped says\n"
      "how much better another can be.\n\n"
      "  pipewright search sweep.yaml\n"
      "  pipewright search sweep.yaml -o sweep.html best.yaml --by schedule\n"
      "  pipewright search sweep.yaml --results sweep.h5 --budget '10 min'\n"
      "  pipewright search sweep.yaml --results sweep.h5 --resume\n"
      "  pipewright search wider.yaml --reuse sweep.h5           # simulate what is new\n"
      "  pipewright search sweep.h5 -o sweep.html sweep.csv      # shows results again\n"
      "  pipewright search sweep.yaml --shard 3/64 --results part-3.h5   # one job of 64\n"
      "  pipewright search merge part-*.h5 -o sweep.html\n"
      "  pipewright search sweep.h5 --why-not 'tp == 8'          # the best of those, and its "
      "loss\n"
      "  pipewright search sweep.h5 --robust                     # how sure is the winner?\n"
      "  pipewright search two.yaml --costs tokens=300B deadline=60d dgx-a100=1.8 dgx-h100=2.9\n"
      "  mpirun -n 64 pipewright-mpi search sweep.yaml           # on many machines\n\n"
      "Exit status 1: nothing was found; 130: interrupted, and what was found is written.\n\n"
      "Values: a list [1, 2, 4], a range 1..8, '8..64 step 8' or '1..64 x2', or auto: all that\n"
      "divide. Where a list is the value itself (as of pass times), alternatives are written\n"
      "{{any_of: [.., ..]}}.\n\n"
      "{}\nkeys of the section 'search':\n",
      describe(sweep_options()));
  for (const config::KeyRow& key : search::sweep_keys())
    fmt::print("  {:<12} {}\n", key.name, help_line(key));
  fmt::print("{}", winner_help());
  fmt::print("\nAll other keys are those of a scenario: 'pipewright run --help'.\n");
}

}  // namespace pipewright::cli
