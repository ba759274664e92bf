#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

// Bandwidth with which the first half of some GPUs can send to the second half at the same time, in
// one direction, if every GPU sends the same amount. If all nodes have the same number of GPUs and
// both halves are whole nodes, each GPU sends only to GPUs with the same index in their nodes, so
// that traffic stays on its rail; otherwise it sends to all GPUs of the second half.
struct Bisection {
  double bandwidth = 0;       // bytes/s; 0 if there is only one GPU or if routes are missing
  std::uint64_t missing = 0;  // number of GPU pairs without a route
  std::string missing_from;   // first pair without a route
  std::string missing_to;
  std::uint64_t routes = 0;        // examined routes
  std::uint64_t total_routes = 0;  // existing routes
  bool is_sampled() const { return routes < total_routes; }
};
Bisection find_bisection(const Cluster& cluster, std::span<Host* const> gpus);

// Bandwidth that find_bisection() finds, in bytes/s. Throws Error if a route is missing.
double bisection(const Cluster& cluster, std::span<Host* const> gpus);
inline double bisection(const Cluster& cluster) { return bisection(cluster, cluster.gpus()); }

}  // namespace pipewright::cluster
