#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"
#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Totals of the collectives inside passes over the run, by device, group and operation. Each pass
// counts, with the duration its collectives have on an idle cluster. Exposed time is shared out:
// where compute hides part of a pass's wait, or the wait for the host covers it, each collective
// bears its share of the rest. In a fused pair, collectives other than those of the second stream
// (Job::half_in_pair) are as exposed as in separate passes, and the second stream bears the rest.
std::vector<trace::PassCollectiveRow> pass_collective_rows(const Job& job);

}  // namespace pipewright::execution
