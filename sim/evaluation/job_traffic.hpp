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

using Groups = std::vector<std::vector<std::uint32_t>>;  // of ranks
bool have_partners(const Groups& groups);                // any has two ranks or more
// Of devices that are neighbours, each with the rank of the other that has its place there.
Groups stage_pairs(const workload::Ranks& ranks,
                   const std::set<std::pair<std::uint32_t, std::uint32_t>>& neighbours);

// "all-reduce of 256 MiB", "32 MiB each way"
std::string operation_text(const workload::Operation& collective, std::uint64_t bytes,
                           bool between_stages);

// What groups of a job's ranks say to each other.
struct JobCall {
  std::string name;  // "dp"
  workload::Operation collective;
  std::uint64_t bytes = 0;
  Groups groups;
  bool between_stages = false;
};
std::vector<JobCall> job_calls(const config::Scenario& scenario, const Hardware& hardware,
                               const workload::Plan& plan);

// "tp + dp": those kinds of groups whose calls are outside of what the cluster's file was held
// against. Empty if none is, or if the file has no record.
std::string untried(const config::Scenario& scenario, const Hardware& hardware,
                    const workload::Plan& plan);

// What the ranks of a scenario's job say to each other, in the sizes that its first schedule has:
// of each kind of group what it says most of in one pass, a bucket of gradients, a boundary tensor
// between stages, both ways. Empty for a job without a model, but for its boundary tensors.
std::vector<comm::Traffic> job_traffic(const config::Scenario& scenario, const Hardware& hardware,
                                       const execution::RankPlacement& placement);

}  // namespace pipewright::evaluation
