#pragma once

#include "sim/process/channel.hpp"
#include "sim/sweep/space.hpp"
#include "sim/worker/worker_settings.hpp"

namespace pipewright::worker {

// Main function of a process that simulates the goodput runs of candidates whose iteration time is
// known. It reads rows that contain the site of the candidate and returns them with the share of
// the run that is lost, as lines of JSON, until its parent ends.
void simulate_goodput_runs(const search::Space& space, const WorkerSettings& settings,
                           process::Channel& parent);

}  // namespace pipewright::worker
