#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/interference_report.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::comm {

// One kind of traffic of a job: groups of ranks that run the same collective at the same time.
struct Traffic {
  std::string name;
  std::string operation;                             // "all-reduce of 256.0 MiB"
  std::string by;                                    // "ring, LL128", for the first group
  std::vector<std::vector<execution::Phase>> plans;  // plan of each group
  std::size_t ranks = 0;                             // ranks per group
};

// Makes traffic of a collective over `bytes` (counted as in workload::Call) in each group with at
// least two ranks.
Traffic make_traffic(const std::string& name, const std::string& operation,
                     const workload::Operation& collective, std::uint64_t bytes,
                     const std::vector<std::vector<std::uint32_t>>& groups,
                     execution::Algorithm algorithm, const execution::RankPlacement& placement);

// Simulates each kind of traffic alone and each pair of kinds together, as described at
// analysis::Encounter. Fills in `traffic` and `encounters`. Calls progress(finished fraction).
analysis::Interference interfere(cluster::Cluster& cluster,
                                 const execution::RankPlacement& placement,
                                 std::span<const Traffic> traffic,
                                 const std::function<void(double)>& progress = {});

}  // namespace pipewright::comm
