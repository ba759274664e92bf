#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/guard.hpp"
#include "sim/cli/job/planned_launch.hpp"
#include "sim/cli/progress.hpp"
#include "sim/cli/search/sweep_command.hpp"
#include "sim/config/text/readable.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/make_setting.hpp"
#include "sim/goodput/study.hpp"
#include "sim/search/workers.hpp"
#include "sim/worker/search_worker.hpp"
#include "sim/worker/what_if_runs.hpp"

namespace pipewright::cli {
namespace {

int serve_worker(const Arguments& arguments) {
  po::options_description options = sweep_options();
  options.add_options()("serve", "")("within", several_words("FOLDER..")->composing(), "");
  const po::variables_map flags = parse(arguments, options, "scenario");
  if (flags.count("within") != 0) {
    const std::vector<std::string> folders = values(flags, "within");
    config::read_only_within({folders.begin(), folders.end()});
  }
  worker::serve_search(read_worker_settings(flags));
  return exit_ok;
}

// Simulates weeks of training with failures, without other checkpoint intervals and what-ifs. An
// error contains the notes on spares and failures, which may explain it.
analysis::GoodputReport simulate_weeks(const config::Scenario& scenario,
                                       std::optional<double> tokens,
                                       const std::function<bool()>& stop) {
  constexpr std::uint64_t seeds = 20;
  const auto look = [&](double share) {
    if (share < 1 && stop())
      throw std::runtime_error(
          fmt::format("the time was spent before {} seeds were simulated", seeds));
  };
  const goodput::Iteration iteration = goodput::simulate_iteration(scenario);
  try {
    return goodput::study(scenario, iteration,
                          {.seeds = seeds,
                           .jobs = std::max(1U, std::thread::hardware_concurrency()),
                           .without_variants = true,
                           .tokens = tokens,
                           .look = look});
  } catch (const std::runtime_error& error) {
    const std::vector<std::string> notes =
        goodput::notes_of(scenario.goodput.value_or(config::Goodput{}), iteration);
    if (notes.empty()) throw;
    throw std::runtime_error(fmt::format("{}; {}", error.what(), fmt::join(notes, "; ")));
  }
}

}  // namespace

std::unique_ptr<search::Workers> local_workers(const worker::WorkerSettings& settings) {
  std::vector<std::string> command = worker_words(settings);
  command.insert(command.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  // A worker may read no more files than the process that it works for.
  for (const std::filesystem::path& folder : config::readable_folders())
    command.insert(command.end(), {"--within", folder.string()});
  return std::make_unique<search::LocalWorkers>(settings.jobs, std::move(command));
}

search::WhatIfRuns local_what_if_runs(const search::Space& space, std::size_t jobs, bool quiet) {
  return worker::make_what_if_runs(space, jobs, [quiet]() -> worker::WatchRuns {
    const auto bar = std::make_shared<ProgressBar>("changed conditions", !quiet);
    return [bar](std::size_t finished, std::size_t total) {
      if (bar->is_due())
        bar->draw(static_cast<double>(finished) / static_cast<double>(total),
                  fmt::format("{} of {} simulations", finished, total));
    };
  });
}

int search_command(const Arguments& arguments) {
  if (std::ranges::find(arguments, "--serve") != arguments.end()) return serve_worker(arguments);
  return sweep_command(arguments,
                       {local_workers, local_what_if_runs, launch_planner(), simulate_weeks});
}

}  // namespace pipewright::cli
