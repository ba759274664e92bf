#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/job/launch.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/search/winner_questions.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/coordinator.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::cli {

// Processes that evaluate candidates: how many, and what each simulation may take.
struct WorkerSettings {
  std::size_t jobs = 1;            // on this machine
  double time_limit_s = 0;         // of one simulation; 0: none
  std::uint64_t memory_bytes = 0;  // likewise
};

struct SweepRequest {
  std::filesystem::path file;         // the sweep, or the results of one
  std::optional<config::Value> tree;  // the sweep; none where there are results to show again
  WorkerSettings workers;
  std::vector<std::filesystem::path> shards;  // whose results are to be put together
  std::optional<double> budget_s;
  bool exhaustive = false;
  bool front = true;                       // the fronts are to be proven too
  std::optional<std::uint64_t> candidate;  // that is written as a scenario; else the best
  std::optional<std::filesystem::path> results;
  bool resume = false;
  std::vector<std::filesystem::path> reused;  // results of other sweeps
  bool yes = false;                           // whatever the size of the space
  std::vector<std::filesystem::path> outputs;
  std::vector<std::string> by;       // axes, for the best of each value
  std::vector<LaunchWord> launches;  // of the best
  WinnerQuestions questions;
  std::size_t top = 10;
  bool json = false;
  bool quiet = false;
};

po::options_description sweep_options();
// `tree` is the sweep where no file says it.
SweepRequest read_sweep_request(const po::variables_map& given,
                                const std::optional<config::Value>& tree = std::nullopt);

// What starts a worker, without the program: search --serve and the limits.
std::vector<std::string> worker_words(const WorkerSettings& settings);
// The limits alone, as read from those words.
WorkerSettings read_worker_settings(const po::variables_map& given);

void print_sweep_help();

// Starts those who evaluate candidates. A handshake comes later.
using MakeWorkers = std::function<std::unique_ptr<search::Workers>(const WorkerSettings&)>;

// Simulates candidates of a space under other conditions, so many at a time.
using MakeTrials =
    std::function<search::Trials(const search::Space&, std::size_t jobs, bool quiet)>;

// Who works for a search. Without trials it cannot tell how sure its winner is.
struct SweepMeans {
  MakeWorkers make_workers;
  MakeTrials make_trials = {};
};

// Those of this machine: this program again, as many times.
std::unique_ptr<search::Workers> local_workers(const WorkerSettings& settings);

// Is told how far a search is, often, beside the bar.
using WatchSweep = std::function<void(const search::State&, const analysis::SearchRun&)>;

// `pipewright search`, whoever the workers are. Needs no SimGrid. Returns an exit status; throws
// what a user can cause, and Interrupted once the results so far are written. `tree` is the sweep
// where no word names a file.
int sweep_command(const Arguments& arguments, const SweepMeans& means, const WatchSweep& watch = {},
                  const std::optional<config::Value>& tree = std::nullopt);

}  // namespace pipewright::cli
