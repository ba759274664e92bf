#include "sim/cluster/checks/alike.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/cluster/network.hpp"

namespace pipewright::cluster {

std::vector<AlikeGroup> alike_groups(const Cluster& cluster, std::span<Host* const> gpus,
                                     std::span<const std::uint32_t> which, bool across,
                                     std::span<const std::uint32_t> apart) {
  std::map<std::tuple<std::uint64_t, bool, std::uint32_t>, std::size_t> place_of;
  std::vector<AlikeGroup> groups;
  for (const std::uint32_t i : which) {
    Network::Alike alike{.number = i};
    if (!cluster.is_ideal()) alike = cluster.network()->alike(gpus[i], across);
    const std::uint32_t node = cluster.node_of(gpus[i]);
    const bool is_apart = std::ranges::find(apart, node) != apart.end();
    const auto [place, is_new] = place_of.try_emplace(
        {alike.number, alike.has_own_link, is_apart ? node + 1 : 0}, groups.size());
    if (is_new)
      groups.push_back({.number = alike.number, .members = {}, .has_own_link = alike.has_own_link});
    groups[place->second].members.push_back(i);
  }
  return groups;
}

}  // namespace pipewright::cluster
