#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/training_cost.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/job/launch.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {

// Request of `pipewright run`: the scenario of a file and of the command line, and settings of the
// output.
struct RunRequest {
  config::Scenario scenario;
  std::optional<std::filesystem::path> file;  // source of the scenario
  bool json = false;                          // print only the summary, as JSON
  bool details = false;                       // print every table instead of the first screen
  bool quiet = false;                         // no progress bar
  bool require_fit = false;                   // exit with 3 if a device exceeds its memory
  bool steady_state = false;                  // extrapolate from a few periods
  std::optional<analysis::TrainingQuestion> training;  // cost of a training, if --tokens is given
  std::uint32_t repeat = 1;                            // runs with consecutive seeds
  std::vector<LaunchWord> launches = {};               // for the fastest schedule
};

// Parses the command line. Prints the help and returns nothing for --help. Throws UsageError.
std::optional<po::variables_map> parse_run(const Arguments& arguments);
// Tree of the scenario file after the options of the command line are applied.
config::Value run_tree(const po::variables_map& flags);
// Makes the request from the options and the scenario. Throws UsageError or config::Error.
RunRequest read_run_request(const po::variables_map& flags);

}  // namespace pipewright::cli
