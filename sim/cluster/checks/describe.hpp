#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/checks/bisection.hpp"
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
  std::size_t count = 0;  // number of cables; a duplex link is one cable
};

struct Description {
  std::size_t nodes = 0;
  std::vector<GpuKind> gpus;    // in the order of the platform
  std::vector<LinkKind> links;  // by class and bandwidth
  Bisection bisection;
  // Choice among the routes between two GPUs of different nodes: "adaptive", "spread", "hash" or
  // "file" (config::Multipath) where any pair has several equally short ones, "torus" for one
  // dimension after the other, or "single" for one route for each pair.
  std::string_view routing;
};
Description describe(const Cluster& cluster);

}  // namespace pipewright::cluster
