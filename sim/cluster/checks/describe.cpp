#include "sim/cluster/checks/describe.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/base/enum_names.hpp"
#include "sim/cluster/torus.hpp"

namespace pipewright::cluster {
namespace {

std::vector<GpuKind> gpu_kinds(const Cluster& cluster) {
  std::vector<GpuKind> kinds;
  for (const Host* host : cluster.gpus()) {
    GpuKind candidate{.gpu = gpu_of(host), .speed = host->speed, .memory = memory_of(host)};
    const auto match = std::find_if(kinds.begin(), kinds.end(), [&](const GpuKind& kind) {
      return kind.gpu == candidate.gpu && kind.speed == candidate.speed &&
             kind.memory == candidate.memory;
    });
    if (match == kinds.end()) {
      candidate.count = 1;
      kinds.push_back(candidate);
    } else {
      ++match->count;
    }
  }
  return kinds;
}

std::vector<LinkKind> link_kinds(const Cluster& cluster) {
  std::map<std::tuple<std::string, double, double>, std::size_t> count;
  for (const Link* link : cluster.links()) {
    if (Cluster::link_name(link).ends_with("_DOWN")) continue;  // counted together with its _UP
    ++count[{cluster.link_class(link), cluster.bandwidth_of(link), cluster.latency_of(link)}];
  }
  std::vector<LinkKind> kinds;
  for (const auto& [key, links] : count)
    kinds.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), links});
  return kinds;
}

std::string_view routing_of(const Cluster& cluster) {
  if (torus_position(cluster, cluster.gpus().front())) return "torus";
  if (!cluster.has_divided_routes()) return "single";
  return base::name_of(config::multipath_names, cluster.multipath().by);
}

}  // namespace

Description describe(const Cluster& cluster) {
  Description description{.gpus = gpu_kinds(cluster), .links = link_kinds(cluster)};
  for (const Host* host : cluster.gpus())
    description.nodes = std::max<std::size_t>(description.nodes, cluster.node_of(host) + 1);
  description.bisection = find_bisection(cluster, cluster.gpus());
  description.routing = routing_of(cluster);
  return description;
}

}  // namespace pipewright::cluster
