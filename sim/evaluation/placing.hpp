#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/ranks.hpp"

// Which GPUs of a cluster a job uses. A node of the platform file is an NVLink domain: eight GPUs
// of a DGX, 72 of a rack of GB200 NVL72. Ranks are dealt out to GPUs in order, domain by domain.
namespace pipewright::evaluation {

// Of each rank: the host that the scenario names; else on as many GPUs of each domain as it says,
// or on as many as keep groups of tp, cp, etp and ep within a domain, if the cluster has enough.
// Throws config::Error, cluster::Error.
std::vector<cluster::Host*> place(const config::Scenario& scenario, const cluster::Cluster& cluster,
                                  const workload::Ranks& ranks);

// The same on GPUs of these domains alone, whatever hosts the scenario names; none if they are too
// few.
std::optional<std::vector<cluster::Host*>> place_within(
    const config::Scenario& scenario, const workload::Ranks& ranks,
    const std::vector<std::vector<cluster::Host*>>& domains);

// How many of its GPUs a cluster has to offer.
std::uint64_t usable_gpus(const config::Placement& placement, const cluster::Cluster& cluster);

// Groups that a domain could hold, and that lie across two or more.
struct Straddling {
  std::string groups;  // "ep (32 ranks)"; empty: there are none
  std::string remedy;  // the key to set, or why none helps

  std::string note() const;  // a sentence, or nothing
};
Straddling straddling(const workload::Ranks& ranks, const std::vector<cluster::Host*>& hosts,
                      const cluster::Cluster& cluster);

}  // namespace pipewright::evaluation
