#pragma once

#include <string>

#include "sim/comm/interference.hpp"
#include "sim/workload/ranks.hpp"

namespace pipewright::cli {

// Parses a traffic description for the groups of a layout: "all-reduce 256M dp", optionally with an
// algorithm ("ring"). Throws UsageError.
comm::Traffic parse_traffic(const std::string& text, const workload::Ranks& ranks,
                            const execution::RankPlacement& placement);

}  // namespace pipewright::cli
