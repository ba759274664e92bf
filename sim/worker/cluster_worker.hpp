#pragma once

#include "sim/process/channel.hpp"
#include "sim/sweep/space.hpp"
#include "sim/worker/worker_settings.hpp"

namespace pipewright::worker {

// Main function of a process that evaluates candidates on one cluster, which it loads once. It
// takes tasks and gives answers (sim/search/messages.hpp) until its parent ends. Each simulation
// runs in a child of the process.
void evaluate_on_cluster(const search::Space& space, const WorkerSettings& settings,
                         process::Channel& parent);

}  // namespace pipewright::worker
