#pragma once

#include <span>
#include <vector>

#include "sim/execution/collectives/flow.hpp"
#include "sim/execution/collectives/places.hpp"

namespace pipewright::execution {

// Starts all these collectives at once on the cluster, where nothing else happens, and returns how
// many seconds each takes. Runs SimGrid's engine: not from an actor, nor while actors wait to run.
std::vector<double> simulate_alone(cluster::Cluster& cluster, const Places& places,
                                   std::span<const std::vector<Phase>> plans);

}  // namespace pipewright::execution
