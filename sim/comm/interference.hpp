#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/reports/interference_report.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::comm {

// One kind of a job's traffic: groups of ranks, each of which does the same at the same time.
struct Traffic {
  std::string name;
  std::string operation;                             // "all-reduce of 256.0 MiB"
  std::string by;                                    // "ring, LL128", of the first group
  std::vector<std::vector<execution::Phase>> plans;  // of each group
  std::size_t ranks = 0;                             // of a group
};

// `collective` of `bytes`, as workload::Call counts them, over each of the groups, of two ranks and
// more.
Traffic make_traffic(const std::string& name, const std::string& operation,
                     const workload::Operation& collective, std::uint64_t bytes,
                     const std::vector<std::vector<std::uint32_t>>& groups,
                     execution::Algorithm algorithm, const execution::RankPlacement& placement);

// Each kind alone, and each two at once: see analysis::Encounter for what that means. Fills in
// `traffic` and `encounters`. `progress` is called with the part that is
// done.
analysis::Interference interfere(cluster::Cluster& cluster,
                                 const execution::RankPlacement& placement,
                                 std::span<const Traffic> traffic,
                                 const std::function<void(double)>& progress = {});

}  // namespace pipewright::comm
