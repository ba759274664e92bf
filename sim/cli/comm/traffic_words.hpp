#pragma once

#include <string>

#include "sim/comm/interference.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::cli {

// "all-reduce 256M dp", and perhaps the algorithm, "ring", over the groups of a layout. Throws
// UsageError.
comm::Traffic parse_traffic(const std::string& text, const workload::Ranks& ranks,
                            const execution::RankPlacement& placement);

}  // namespace pipewright::cli
