#pragma once

#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// Returns rows of an earlier search for those candidates of this space (and of its shard) that have
// the same scenario, in ascending order of their numbers in this space. The two sweeps may differ
// in constraints, in the values of an axis, in which keys are axes, and in the objective. Failed
// rows are left out, and bounds count as those of the least accurate kind. The cost grows with the
// rows of the earlier search, not with the space. Throws config::Error if the earlier sweep cannot
// be read, or if this space has more combinations than can be numbered.
std::vector<analysis::CandidateRow> reuse(const analysis::SearchRun& earlier, const Space& space);

}  // namespace pipewright::search
