#pragma once

#include <functional>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// What earlier results tell of candidates of this space, in order: of those whose scenario is the
// same, wherever the two sweeps differ otherwise, as by narrower constraints, values that were
// added, or another objective. Until `stop` says so. Throws config::Error where the earlier sweep
// cannot be read.
std::vector<analysis::CandidateRow> reuse(const analysis::SearchRun& earlier, const Space& space,
                                          const std::function<bool()>& stop = {});

}  // namespace pipewright::search
