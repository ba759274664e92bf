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
#include "sim/cli/search/decision.hpp"
#include "sim/cli/search/winner_questions.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/coordinator.hpp"
#include "sim/search/workers.hpp"
#include "sim/worker/worker_settings.hpp"

namespace pipewright::cli {

// Parsed command line of `pipewright search`.
struct SweepRequest {
  std::filesystem::path file;         // a sweep, or the results of a search
  std::optional<config::Value> tree;  // the sweep; empty where results are shown again
  bool has_results = false;           // `file` holds the results of a search
  worker::WorkerSettings workers;
  std::vector<std::filesystem::path> shards;  // results to be merged
  std::optional<double> budget_s;
  bool exhaustive = false;
  bool front = true;                       // prove the fronts, too
  std::optional<std::uint64_t> candidate;  // candidate to write as a scenario; empty: the best
  std::optional<std::filesystem::path> results;
  bool resume = false;
  std::vector<std::filesystem::path> reused;  // results of other sweeps
  bool yes = false;                           // search a space of any size
  std::vector<std::filesystem::path> outputs;
  std::vector<std::string> by;       // axes for tables of the best candidate per value
  std::vector<LaunchWord> launches;  // launch commands of the best candidate
  WinnerQuestions questions;
  std::size_t top = 10;
  bool json = false;
  bool quiet = false;
};

po::options_description sweep_options();
// Reads the command line. `tree` is the sweep if the command line names no file.
SweepRequest read_sweep_request(const po::variables_map& options,
                                const std::optional<config::Value>& tree = std::nullopt);

// Command-line arguments that start a worker process: `search --serve`, and the limits of time and
// memory for a simulation.
std::vector<std::string> worker_words(const worker::WorkerSettings& settings);
// Reads the settings of workers from the command line, or from these arguments.
worker::WorkerSettings read_worker_settings(const po::variables_map& options);

void print_sweep_help();

// Starts the worker processes of a search, and does not wait for their handshake.
using MakeWorkers = std::function<std::unique_ptr<search::Workers>(const worker::WorkerSettings&)>;

// Returns a function that simulates candidates of a space under changed conditions, `jobs` at a
// time.
using MakeWhatIfRuns =
    std::function<search::WhatIfRuns(const search::Space&, std::size_t jobs, bool quiet)>;

// Functions that start the processes of a search. `--robust` needs make_what_if_runs. `--launch`,
// and launches on a page, need plan_launch. `--decide` needs all of them.
struct SweepProcesses {
  MakeWorkers make_workers;
  MakeWhatIfRuns make_what_if_runs = {};
  PlanLaunch plan_launch = {};
  SimulateWeeks simulate_weeks = {};
};

// Starts worker processes on this machine. Each runs this program.
std::unique_ptr<search::Workers> local_workers(const worker::WorkerSettings& settings);
// Simulates candidates under changed conditions on this machine, and shows a progress bar. The
// space must outlive the result.
search::WhatIfRuns local_what_if_runs(const search::Space& space, std::size_t jobs, bool quiet);

// Callback for the progress of a search, which is called often.
using WatchSweep = std::function<void(const search::State&, const analysis::SearchRun&)>;

// Runs `pipewright search`. Simulations run in worker processes of any kind, so this needs no
// SimGrid. Returns an exit status. Throws the errors that users can cause, and Interrupted once the
// results so far are written. `tree` is the sweep if the command line names no file.
int sweep_command(const Arguments& arguments, const SweepProcesses& processes,
                  const WatchSweep& watch = {},
                  const std::optional<config::Value>& tree = std::nullopt);

}  // namespace pipewright::cli
