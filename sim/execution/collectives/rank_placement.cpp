#include "sim/execution/collectives/rank_placement.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace pipewright::execution {

RankPlacement::RankPlacement(const cluster::Cluster& cluster, std::vector<cluster::Host*> hosts)
    : cluster_(cluster) {
  RankTable table{.hosts = std::move(hosts), .nodes = {}, .gpu_indices = {}};
  const std::vector<cluster::Host*>& gpus = cluster_.gpus();
  std::vector<std::uint32_t> gpu_indices;  // by number of the host
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i]->number >= gpu_indices.size()) gpu_indices.resize(gpus[i]->number + 1);
    gpu_indices[gpus[i]->number] = i;
  }
  for (const cluster::Host* host : table.hosts) {
    table.nodes.push_back(cluster_.node_of(host));
    table.gpu_indices.push_back(gpu_indices.at(host->number));
  }
  ranks_ = std::make_shared<const RankTable>(std::move(table));
}

std::vector<std::vector<std::uint32_t>> RankPlacement::by_node(
    std::span<const std::uint32_t> members) const {
  std::vector<std::vector<std::uint32_t>> nodes;
  std::unordered_map<std::uint32_t, std::size_t> index_of;
  for (const std::uint32_t rank : members) {
    const auto [it, is_new] = index_of.emplace(node(rank), nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[it->second].push_back(rank);
  }
  for (std::vector<std::uint32_t>& ranks : nodes)
    std::ranges::stable_sort(ranks, {}, [this](std::uint32_t rank) { return gpu_index(rank); });
  return nodes;
}

}  // namespace pipewright::execution
