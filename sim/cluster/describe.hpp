#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {

struct GpuKind {
  std::string gpu;
  double speed = 0;  // FLOP/s
  std::uint64_t memory = 0;
  std::size_t count = 0;

  bool operator==(const GpuKind&) const = default;
};

struct LinkKind {
  std::string link_class;
  double bandwidth = 0;   // bytes/s, one direction
  double latency = 0;     // seconds
  std::size_t count = 0;  // of cables: a duplex link is one
};

struct Description {
  std::size_t nodes = 0;
  std::vector<GpuKind> gpus;    // in the order of the platform
  std::vector<LinkKind> links;  // by class and bandwidth
  double bisection = 0;         // bytes/s, 0 if there is but one GPU
};
Description describe(const Cluster& cluster);

// What the first half of these GPUs can send to the second at once, in one direction, when each
// sends as much as the others and spreads it evenly: over all GPUs of its rank within its node, or
// over as many of them, evenly chosen, as 200,000 routes allow. Throws Error if a route is missing.
double bisection(const Cluster& cluster, std::span<Host* const> gpus);
inline double bisection(const Cluster& cluster) { return bisection(cluster, cluster.gpus()); }

}  // namespace pipewright::cluster
