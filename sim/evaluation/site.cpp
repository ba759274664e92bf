#include "sim/evaluation/site.hpp"

#include <algorithm>

namespace pipewright::evaluation {

analysis::Site site_of(const Hardware& hardware) {
  constexpr std::uint32_t gpus_per_node = 8;
  if (hardware.cluster.is_ideal())
    return {.nodes = static_cast<std::uint32_t>((hardware.ranks.size() + gpus_per_node - 1) /
                                                gpus_per_node)};
  std::vector<bool> used(hardware.cluster.nodes().size());
  for (const cluster::Host* const host : hardware.hosts)
    used[hardware.cluster.node_of(host)] = true;
  return {.nodes = static_cast<std::uint32_t>(std::ranges::count(used, true)),
          .cluster_nodes = static_cast<std::uint32_t>(used.size())};
}

double TrafficSink::bytes(const config::Scenario& scenario, const Hardware& hardware) const {
  const double copies = static_cast<double>(hardware.ranks.size()) / scenario.devices.value;
  return bytes_ * copies / scenario.iterations.value;
}

}  // namespace pipewright::evaluation
