#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {

// Word of --launch: FRAMEWORK or FRAMEWORK:FILE.
struct LaunchWord {
  const jobs::Framework* framework = nullptr;
  std::string file;  // empty: the launch is printed
};

// Throws UsageError for a framework that launches are not written for.
std::vector<LaunchWord> parse_launch(const std::vector<std::string>& words);

// Writes the launches of a scenario to the files of the words. Returns what is to be printed: a
// line for each file, and the text of launches without a file.
std::string write_launch(const config::Scenario& scenario, const std::vector<LaunchWord>& words,
                         const schedules::Schedule* planned = nullptr);

// The scenario, reduced to one of its schedules.
config::Scenario with_schedule(const config::Scenario& scenario, std::size_t index);

}  // namespace pipewright::cli
