#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/cluster/network.hpp"

namespace pipewright::cluster {

// Place of a GPU in a torus of the platform file. Empty if the GPU is in none.
std::optional<TorusPosition> torus_position(const Cluster& cluster, const Host* gpu);
// A torus of the platform file, by the number in TorusPosition. It refers to the cluster.
TorusGrid torus(const Cluster& cluster, std::uint32_t torus);

}  // namespace pipewright::cluster
