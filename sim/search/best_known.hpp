#pragma once

#include <cstddef>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// Returns the best `count` simulated rows, best first. Of equivalent candidates, only the first
// counts.
std::vector<std::size_t> best_rows(const analysis::SearchRun& run, std::size_t count);

// Proves which `count` candidates are the best, where a search proves only the best one: simulates
// every candidate whose lower bound of the cost is below the cost of the last of them. The list
// then does not depend on which candidates the search happened to simulate. Throws what
// run_search() throws: trace::TraceError and std::runtime_error.
void prove_best(analysis::SearchRun& run, const Space& space, std::size_t count, Workers& workers,
                const SearchOptions& options, const SearchCalls& calls);

}  // namespace pipewright::search
