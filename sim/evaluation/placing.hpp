#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/ranks.hpp"

// Choice of the GPUs of a cluster that a job uses. A node of the platform file is an NVLink domain:
// eight GPUs of a DGX, 72 of a GB200 NVL72 rack. Ranks are assigned to GPUs in order, domain by
// domain.
namespace pipewright::evaluation {

// Host of each rank: the hosts that the scenario names; else the number of GPUs of each domain that
// it states; else as many GPUs per domain as keep groups of tp, cp, etp and ep within a domain, if
// the cluster has enough. Throws config::Error and cluster::Error.
std::vector<cluster::Host*> place(const config::Scenario& scenario, const cluster::Cluster& cluster,
                                  const workload::Ranks& ranks);

// The same with only the GPUs of these domains, ignoring hosts that the scenario names. Empty if
// there are too few GPUs.
std::optional<std::vector<cluster::Host*>> place_within(
    const config::Scenario& scenario, const workload::Ranks& ranks,
    const std::vector<std::vector<cluster::Host*>>& domains);

// Number of GPUs of a cluster that the placement may use.
std::uint64_t usable_gpus(const config::Placement& placement, const cluster::Cluster& cluster);

// Groups that would fit into a domain but are spread over several.
struct Straddling {
  std::string groups;  // "ep (32 ranks)"; empty: no such groups
  std::string remedy;  // the key to set, or the reason why there is none

  std::string note() const;  // a sentence, or empty
};
Straddling straddling(const workload::Ranks& ranks, const std::vector<cluster::Host*>& hosts,
                      const cluster::Cluster& cluster);

}  // namespace pipewright::evaluation
