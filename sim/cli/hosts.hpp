#pragma once

#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::cli {

// The scenario's cluster, or the ideal network.
cluster::Cluster open_cluster(const config::Scenario& scenario);

// The host of each device. Throws cluster::Error or config::Error.
std::vector<cluster::Host*> place(const config::Scenario& scenario,
                                  const cluster::Cluster& cluster);

}  // namespace pipewright::cli
