#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/config/launch_plan.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {

// Argument of --launch, FRAMEWORK or FRAMEWORK:FILE: writes a launch script for the framework.
struct LaunchWord {
  const jobs::Framework* framework = nullptr;
  std::string file;  // empty: the launch is printed
};

// Parses the arguments of --launch. Throws UsageError for a framework without launch scripts.
std::vector<LaunchWord> parse_launch(const std::vector<std::string>& words);

// Returns whether a launch is printed.
bool prints_script(const std::vector<LaunchWord>& words);

// Returns the files that the arguments name, which check_files() compares with the inputs of the
// command.
std::vector<std::filesystem::path> launch_files(const std::vector<LaunchWord>& words);

// Writes a launch script of the scenario for each argument of --launch. Throws UsageError before
// it writes any file if one, such as the schedule beside a script, is among the files `read`.
// Returns the text to print: a line for each file, and the scripts that have no file. A job that
// its framework refuses is written too; a note on the terminal says why it does not start.
std::string write_launch(const config::Scenario& scenario, const std::vector<LaunchWord>& words,
                         std::span<const std::filesystem::path> read,
                         const config::LaunchPlan& plan = {});

// Function that plans the launch of a scenario with a single schedule on its cluster.
using PlanLaunch =
    std::function<std::shared_ptr<const config::LaunchPlan>(const config::Scenario&)>;

// Returns the scenario with only the schedule at `index`.
config::Scenario with_schedule(const config::Scenario& scenario, std::size_t index);

}  // namespace pipewright::cli
