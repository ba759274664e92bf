#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/cluster/platform/torus_grid.hpp"

namespace pipewright::cluster {

// Loads of a torus whose corners send flows to each other: sources[a] * destinations[b] from corner
// a to corner b, one dimension after the other as PlatformRoutes does, and both ways evenly to the
// opposite side of a ring. Calls load(link, amount) for every link with a load. Takes time
// proportional to the number of corners times the largest side, instead of its square.
void add_torus_loads(const TorusGrid& grid, const std::vector<double>& sources,
                     const std::vector<double>& destinations,
                     const std::function<void(std::uint32_t link, double amount)>& load);

}  // namespace pipewright::cluster
