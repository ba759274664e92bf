#pragma once

#include <string>
#include <vector>

#include "sim/comm/interference.hpp"
#include "sim/config/scenario.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::cli {

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
