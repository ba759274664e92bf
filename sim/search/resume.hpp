#pragma once

#include <filesystem>
#include <vector>

#include "analysis/search/rows.hpp"
#include "sim/search/journal.hpp"
#include "sim/search/space.hpp"

namespace pipewright::search {

// What an earlier search of the same space left in its results and its journal, in order of
// candidates, one row each. Throws trace::TraceError.
std::vector<analysis::CandidateRow> earlier_rows(const std::filesystem::path& results,
                                                 Journal& journal, const Space& space);

}  // namespace pipewright::search
