#pragma once

#include <optional>
#include <string>
#include <vector>

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

// Writes a launch script of the scenario for each argument of --launch. Returns the text to print:
// a line for each file, and the scripts that have no file.
std::string write_launch(const config::Scenario& scenario, const std::vector<LaunchWord>& words,
                         const schedules::Schedule* planned = nullptr);

// Returns the scenario with only the schedule at `index`.
config::Scenario with_schedule(const config::Scenario& scenario, std::size_t index);

}  // namespace pipewright::cli
