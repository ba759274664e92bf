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
// Pairs of ranks of neighbouring devices that exchange boundary tensors.
Groups stage_pairs(const workload::Ranks& ranks,
                   const std::set<std::pair<std::uint32_t, std::uint32_t>>& neighbours);

// "all-reduce of 256 MiB", "32 MiB each way"
std::string operation_text(const workload::Operation& collective, std::uint64_t bytes,
                           bool between_stages);

// A call over groups of a job's ranks.
struct JobCall {
  std::string name;  // "dp"
  workload::Operation collective;
  std::uint64_t bytes = 0;
  Groups groups;
  bool between_stages = false;
};
std::vector<JobCall> job_calls(const config::Scenario& scenario, const Hardware& hardware,
                               const workload::Plan& plan);

// Kinds of groups whose calls lie outside the measurements that the cluster file was validated
// against, such as "tp + dp". Empty if there are none, or if the file has no record of
// measurements.
std::string untried(const config::Scenario& scenario, const Hardware& hardware,
                    const workload::Plan& plan);

// Traffic between the ranks of a scenario's job, in the sizes of its first schedule: for each kind
// of group the call with the most bytes in one pass, a bucket of gradients, and a boundary tensor
// between stages in both directions. A job without a model has only boundary tensors.
std::vector<comm::Traffic> job_traffic(const config::Scenario& scenario, const Hardware& hardware,
                                       const execution::RankPlacement& placement);

}  // namespace pipewright::evaluation
