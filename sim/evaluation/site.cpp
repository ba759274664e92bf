#include "sim/evaluation/site.hpp"

#include <algorithm>
#include <map>

namespace pipewright::evaluation {

analysis::Site site_of(const Hardware& hardware) {
  constexpr std::uint32_t gpus_per_node = 8;
  if (hardware.cluster.is_ideal())
    return {.nodes = static_cast<std::uint32_t>((hardware.ranks.size() + gpus_per_node - 1) /
                                                gpus_per_node)};
  const auto hosts_of = [](const cluster::Host* gpu, std::size_t gpus) {
    const std::size_t of_host =
        gpu->host_gpus > 0 ? gpu->host_gpus : std::max<std::size_t>(1, gpus);
    return static_cast<std::uint32_t>((gpus + of_host - 1) / of_host);
  };
  analysis::Site site;
  const auto& domains = hardware.cluster.nodes();
  for (const auto& domain : domains)
    if (!domain.empty()) site.cluster_nodes += hosts_of(domain.front(), domain.size());
  std::map<std::uint32_t, std::size_t> used;  // GPUs of the job, by domain
  for (const cluster::Host* const host : hardware.hosts) ++used[hardware.cluster.node_of(host)];
  for (const auto& [domain, gpus] : used) {
    const cluster::Host* const first = domains[domain].front();
    // The GPUs of a node fill its hosts one after the other.
    site.nodes += first->host_gpus > 0 ? hosts_of(first, gpus) : 1;
    const std::uint32_t of_rack = hosts_of(first, domains[domain].size());
    if (of_rack == 1) continue;
    ++site.racks;
    site.rack_nodes = std::max(site.rack_nodes, of_rack);
  }
  return site;
}

double TrafficSink::bytes(const config::Scenario& scenario, const Hardware& hardware) const {
  const double copies = static_cast<double>(hardware.ranks.size()) / scenario.devices.value;
  return bytes_ * copies / scenario.iterations.value;
}

}  // namespace pipewright::evaluation
