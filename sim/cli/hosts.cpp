#include "sim/cli/hosts.hpp"

namespace pipewright::cli {

cluster::Cluster open_cluster(const config::Scenario& scenario) {
  return scenario.cluster ? cluster::Cluster::load(scenario.cluster->value)
                          : cluster::Cluster::ideal(scenario.p2p_time);
}

std::vector<cluster::Host*> place(const config::Scenario& scenario,
                                  const cluster::Cluster& cluster) {
  std::vector<std::string> names;
  for (const auto& host : scenario.placement) names.push_back(host.value);
  try {
    return cluster.place(names, scenario.devices.value);
  } catch (const cluster::Error& error) {
    if (scenario.placement.empty()) throw;
    throw config::Error(config::locate(scenario.placement.front().origin, error.what()));
  }
}

}  // namespace pipewright::cli
