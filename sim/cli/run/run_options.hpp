#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/training_cost.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/job/launch.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {

// What `pipewright run` was asked: a scenario, from a file and the command line over it, and what
// concerns the printing alone.
struct RunRequest {
  config::Scenario scenario;
  std::optional<std::filesystem::path> file;  // that the scenario was read from
  bool json = false;                          // the summary on standard output, nothing else
  bool details = false;                       // every table, not the first screen alone
  bool quiet = false;                         // no progress bar
  bool require_fit = false;                   // exit 3 where a device holds more than it has
  std::optional<analysis::TrainingQuestion> training;  // what so many tokens would take
  std::uint32_t repeat = 1;               // runs, each with the seed after the last one's
  std::vector<LaunchWord> launches = {};  // of the fastest schedule
};

// Empty if only help was asked for, which is then printed. Throws UsageError.
std::optional<po::variables_map> parse_run(const Arguments& arguments);
// The scenario that is named, with the options over it.
config::Value run_tree(const po::variables_map& given);
// Throws UsageError or config::Error.
RunRequest read_run_request(const po::variables_map& given);

}  // namespace pipewright::cli
