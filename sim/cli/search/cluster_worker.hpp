#pragma once

#include "sim/cli/search/sweep_command.hpp"
#include "sim/process/channel.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// What a process does that evaluates candidates on one cluster, loaded once for all: it takes tasks
// and gives answers (sim/search/messages.hpp) until its parent ends. Each simulation is a child of
// it.
void evaluate_on_cluster(const search::Space& space, const WorkerSettings& settings,
                         process::Channel& parent);

}  // namespace pipewright::cli
