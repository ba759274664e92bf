#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"
#include "sim/jobs/export.hpp"

namespace pipewright::cli {

// A word of --launch: FRAMEWORK or FRAMEWORK:FILE.
struct LaunchWord {
  jobs::Framework framework = jobs::Framework::megatron;
  std::string file;  // empty: printed
};

// Throws UsageError for a framework that is not known.
std::vector<LaunchWord> parse_launch(const std::vector<std::string>& words);

// What starts the scenario, by each word: written to its file, of which a line is returned, or
// returned as text.
std::string write_launch(const config::Scenario& scenario, const std::vector<LaunchWord>& words,
                         const schedules::Schedule* planned = nullptr);

// The scenario with one of its schedules alone.
config::Scenario with_schedule(const config::Scenario& scenario, std::size_t index);

}  // namespace pipewright::cli
