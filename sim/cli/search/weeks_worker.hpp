#pragma once

#include "sim/cli/search/sweep_command.hpp"
#include "sim/process/channel.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// What a process does that simulates weeks of candidates, whose iterations others have simulated:
// it takes rows with their sites and gives them with what is lost of weeks, as lines of JSON, until
// its parent ends.
void simulate_weeks(const search::Space& space, const WorkerSettings& settings,
                    process::Channel& parent);

}  // namespace pipewright::cli
