#pragma once

#include <cstddef>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// The best so many of those that were simulated, best first, without twins of one before.
std::vector<std::size_t> best_rows(const analysis::SearchRun& run, std::size_t count);

// Simulates whom it takes to know the best so many for sure, and not the best alone: those whose
// bounds are better than the last of them. So they do not depend on whom the search happened to
// simulate. Throws as run_search().
void know_best(analysis::SearchRun& run, const Space& space, std::size_t count, Workers& workers,
               const SearchOptions& options, const SearchCalls& calls);

}  // namespace pipewright::search
