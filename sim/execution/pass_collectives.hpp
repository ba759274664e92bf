#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/execution/job.hpp"

namespace pipewright::execution {

// What the collectives within passes come to over the run, by device, group and operation: as many
// as there are passes, each as it was timed alone. Of the wait in a pass that one hides in part, or
// the host does, each has its share; in a fused pair those that send no tokens are as exposed as in
// passes alone, and those that send tokens have the rest.
std::vector<trace::PassCollectiveRow> pass_collective_rows(const Job& job);

}  // namespace pipewright::execution
