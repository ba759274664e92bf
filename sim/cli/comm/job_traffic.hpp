#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/comm/interference.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::cli {

// What groups of a job's ranks say to each other.
struct JobCall {
  std::string name;  // "dp"
  workload::Operation collective;
  std::uint64_t bytes = 0;
  std::vector<std::vector<std::uint32_t>> groups;  // of ranks
  bool between_stages = false;
};
std::vector<JobCall> job_calls(const config::Scenario& scenario,
                               const evaluation::Hardware& hardware, const workload::Plan& plan);

// "tp + dp": those kinds of groups whose calls are outside of what the cluster's file was held
// against. Empty if none is, or if the file has no record.
std::string untried(const config::Scenario& scenario, const evaluation::Hardware& hardware,
                    const workload::Plan& plan);

// What the ranks of a scenario's job say to each other, in the sizes that its first schedule has:
// of each kind of group what it says most of in one pass, a bucket of gradients, a boundary tensor
// between stages, both ways. Empty for a job without a model, but for its boundary tensors.
std::vector<comm::Traffic> job_traffic(const config::Scenario& scenario,
                                       const evaluation::Hardware& hardware,
                                       const execution::RankPlacement& placement);

// "all-reduce 256M dp", and perhaps the algorithm, "ring", over the groups of a layout. Throws
// UsageError.
comm::Traffic parse_traffic(const std::string& text, const workload::Ranks& ranks,
                            const execution::RankPlacement& placement);

}  // namespace pipewright::cli
