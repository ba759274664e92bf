#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/comm/interference.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::evaluation {

using Groups = std::vector<std::vector<std::uint32_t>>;  // ranks, by group
bool have_partners(const Groups& groups);                // a group has two ranks or more
// Pairs of ranks on neighbouring pipeline devices that exchange boundary tensors.
Groups stage_pairs(const workload::Ranks& ranks,
                   const std::set<std::pair<std::uint32_t, std::uint32_t>>& neighbours);

// Description of an operation and its size: "all-reduce of 256 MiB", "32 MiB each way"
std::string operation_text(const workload::Operation& collective, std::uint64_t bytes,
                           bool between_stages);

// One kind of communication in a job: the operation, its bytes, and the groups of ranks that do it.
struct JobCall {
  std::string name;  // "dp"
  workload::Operation collective;
  std::uint64_t bytes = 0;
  Groups groups;
  bool between_stages = false;
};
std::vector<JobCall> job_calls(const config::Scenario& scenario, const Hardware& hardware,
                               const workload::Plan& plan);

// Names of groups, such as "tp + dp", whose collectives the cluster file's benchmark records do not
// cover in operation, ranks, nodes or bytes. Empty if all are covered, or if the file has no
// records.
std::string untried(const config::Scenario& scenario, const Hardware& hardware,
                    const workload::Plan& plan);

// Communication between the ranks of a scenario's job when it runs its first schedule: for each
// kind of group the collective with the most bytes in one pass; a bucket of gradients; a boundary
// tensor sent in both directions. Without a model there are only boundary tensors.
std::vector<comm::Traffic> job_traffic(const config::Scenario& scenario, const Hardware& hardware,
                                       const execution::RankPlacement& placement);

}  // namespace pipewright::evaluation
