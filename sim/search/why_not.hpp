#pragma once

#include <string>
#include <vector>

#include "analysis/search/rows.hpp"
#include "analysis/search/why_not.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/search.hpp"
#include "sim/search/space.hpp"
#include "sim/search/workers.hpp"

namespace pipewright::search {

// The part of a sweep that meets one more constraint; its candidates have the numbers that they
// have in the whole. Throws config::Error, which names `option`, for what is no constraint.
Space narrowed(const config::Value& sweep, const std::vector<ClusterFacts>& facts,
               const std::string& condition, const std::string& option);

// Searches a part of a sweep, or a sweep of the same candidates on other GPUs, with what is known
// of its candidates from the whole. The workers may have worked for another search. Throws as
// run_search().
analysis::SearchRun search_part(const analysis::SearchRun& whole, const Space& part,
                                Workers& workers, const SearchOptions& options,
                                const SearchCalls& calls);

// Searches that part for its best, with what is known from searching the whole. A budget covers
// finding out whether the part has candidates, too. Throws as run_search().
analysis::WhyNot why_not(const analysis::SearchRun& whole, const Space& part,
                         const std::string& condition, Workers& workers,
                         const SearchOptions& options, const SearchCalls& calls);

}  // namespace pipewright::search
