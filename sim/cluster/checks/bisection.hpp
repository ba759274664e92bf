#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// What the first half of some GPUs can send to the second at once, in one direction, when each
// sends as much as the others and spreads it evenly: over the GPUs of its place in their nodes, so
// that it stays on its rail where there are rails, if all nodes have as many GPUs and both halves
// are whole nodes; over all GPUs of the second half otherwise.
struct Bisection {
  double bandwidth = 0;       // bytes/s; 0 if there is but one GPU, or if routes are missing
  std::uint64_t missing = 0;  // pairs of GPUs that no route joins
  std::string missing_from;   // the first of them
  std::string missing_to;
  std::uint64_t routes = 0;      // looked at, of
  std::uint64_t all_routes = 0;  // which there are
  bool is_sampled() const { return routes < all_routes; }
};
Bisection find_bisection(const Cluster& cluster, std::span<Host* const> gpus);

// Its bandwidth. Throws Error if a route is missing.
double bisection(const Cluster& cluster, std::span<Host* const> gpus);
inline double bisection(const Cluster& cluster) { return bisection(cluster, cluster.gpus()); }

}  // namespace pipewright::cluster
