#include "sim/cluster/describe.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>

namespace pipewright::cluster {
namespace {

std::vector<GpuKind> gpu_kinds(const Cluster& cluster) {
  std::vector<GpuKind> kinds;
  for (const Host* host : cluster.gpus()) {
    GpuKind one{.gpu = gpu_of(host), .speed = host->get_speed(), .memory = memory_of(host)};
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const GpuKind& kind) {
      return kind.gpu == one.gpu && kind.speed == one.speed && kind.memory == one.memory;
    });
    if (same == kinds.end()) {
      one.count = 1;
      kinds.push_back(one);
    } else {
      ++same->count;
    }
  }
  return kinds;
}

std::vector<LinkKind> link_kinds(const Cluster& cluster) {
  std::map<std::tuple<std::string, double, double>, std::size_t> count;
  for (const Link* link : cluster.links()) {
    if (Cluster::link_name(link).ends_with("_DOWN")) continue;  // counted with its _UP
    ++count[{cluster.link_class(link), Cluster::bandwidth_of(link), cluster.latency_of(link)}];
  }
  std::vector<LinkKind> kinds;
  for (const auto& [key, links] : count)
    kinds.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), links});
  return kinds;
}

}  // namespace

double bisection(const Cluster& cluster, std::span<Host* const> gpus) {
  const std::size_t half = gpus.size() / 2;
  if (half == 0) return 0;
  constexpr std::size_t most_routes = 200'000;
  // Partners go by whole nodes, so that each GPU stays on its rail where there are rails.
  std::set<std::uint32_t> numbers;
  for (const Host* gpu : gpus) numbers.insert(cluster.node_of(gpu));
  const std::size_t nodes = numbers.size();
  const std::size_t stride = std::max<std::size_t>(gpus.size() / nodes, 1);
  const std::size_t all_turns = std::max<std::size_t>(half / stride, 1);
  const std::size_t turns = std::clamp<std::size_t>(most_routes / half, 1, all_turns);

  std::unordered_map<const Link*, std::size_t> flows;  // over each shared link
  double single = std::numeric_limits<double>::infinity();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const std::size_t shift = turn * all_turns / turns * stride;
    for (std::size_t i = 0; i < half; ++i) {
      const Route route = cluster.route(gpus[i], gpus[half + (i + shift) % half]);
      for (const Link* link : route.links) {
        if (link->is_shared()) {
          ++flows[link];
        } else {
          single = std::min(single, link->get_bandwidth());
        }
      }
    }
  }
  double rate = single;  // of one GPU
  for (const auto& [link, count] : flows)
    rate = std::min(
        rate, link->get_bandwidth() * static_cast<double>(turns) / static_cast<double>(count));
  return rate * static_cast<double>(half);
}

Description describe(const Cluster& cluster) {
  Description description{.gpus = gpu_kinds(cluster), .links = link_kinds(cluster)};
  for (const Host* host : cluster.gpus())
    description.nodes = std::max<std::size_t>(description.nodes, cluster.node_of(host) + 1);
  description.bisection = bisection(cluster);
  return description;
}

}  // namespace pipewright::cluster
