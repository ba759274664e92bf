#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/ranks.hpp"

// Chooses the GPUs of a cluster on which a job runs. A node of the platform file is an NVLink
// domain: eight GPUs of a DGX, 72 of a GB200 NVL72 rack. Ranks are assigned to GPUs in order,
// domain by domain.
namespace pipewright::evaluation {

// GPU (host) of each rank. The scenario may name the hosts, or the number of GPUs to use per
// domain; else groups of tp, cp, etp and ep are kept within a domain, if the cluster has enough
// GPUs for that. Throws config::Error and cluster::Error.
std::vector<cluster::Host*> place(const config::Scenario& scenario, const cluster::Cluster& cluster,
                                  const workload::Ranks& ranks);

// Places ranks on the GPUs of these domains alone, ignoring hosts that the scenario names. Empty if
// there are too few GPUs.
std::optional<std::vector<cluster::Host*>> place_within(
    const config::Scenario& scenario, const workload::Ranks& ranks,
    const std::vector<std::vector<cluster::Host*>>& domains);

// Number of GPUs of a cluster that the placement may use, given its GPU types and its limit per
// domain.
std::uint64_t usable_gpus(const config::Placement& placement, const cluster::Cluster& cluster);

// Groups of ranks that would fit into one NVLink domain, but are spread over several.
struct Straddling {
  std::string groups;  // "ep (32 ranks)"; empty: no such groups
  std::string remedy;  // the key to set, or the reason why there is none

  std::string note() const;  // a sentence, or empty
};
Straddling straddling(const workload::Ranks& ranks, const std::vector<cluster::Host*>& hosts,
                      const cluster::Cluster& cluster);

}  // namespace pipewright::evaluation
