#include "sim/cluster/checks/gpu_groups.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "sim/cluster/network.hpp"

namespace pipewright::cluster {

std::vector<GpuGroup> group_gpus(const Cluster& cluster, std::span<Host* const> gpus,
                                 std::span<const std::uint32_t> selection, bool across,
                                 std::span<const std::uint32_t> separate_nodes) {
  std::map<std::tuple<std::uint64_t, bool, std::uint32_t>, std::size_t> group_index;
  std::vector<GpuGroup> groups;
  for (const std::uint32_t i : selection) {
    Network::Equivalence equivalence{.number = i};
    if (!cluster.is_ideal()) equivalence = cluster.network()->equivalence(gpus[i], across);
    const std::uint32_t node = cluster.node_of(gpus[i]);
    const bool is_separate = std::ranges::find(separate_nodes, node) != separate_nodes.end();
    const auto [entry, is_new] = group_index.try_emplace(
        {equivalence.number, equivalence.has_own_link, is_separate ? node + 1 : 0}, groups.size());
    if (is_new)
      groups.push_back(
          {.number = equivalence.number, .members = {}, .has_own_link = equivalence.has_own_link});
    groups[entry->second].members.push_back(i);
  }
  return groups;
}

}  // namespace pipewright::cluster
