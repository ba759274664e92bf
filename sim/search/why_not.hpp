#pragma once

#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/why_not.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// Returns the part of a sweep that meets an additional constraint. Candidates keep the numbers that
// they have in the whole sweep. Throws a config::Error that names `option` for an invalid
// constraint.
Space part_with_constraint(const config::Value& sweep, const std::vector<ClusterFacts>& facts,
                           const std::string& condition, const std::string& option);

// Searches a part of a sweep, or the same candidates on other GPUs, starting from the rows of the
// whole sweep. The workers may have served another search before. Throws what run_search() throws:
// trace::TraceError and std::runtime_error.
analysis::SearchRun search_part(const analysis::SearchRun& whole, const Space& part,
                                Workers& workers, const SearchOptions& options,
                                const SearchCalls& calls);

// Finds the best candidate of a part of a sweep, starting from the rows of the whole sweep. The
// budget includes the time to find out whether the part has candidates. Throws what run_search()
// throws: trace::TraceError and std::runtime_error.
analysis::WhyNot why_not(const analysis::SearchRun& whole, const Space& part,
                         const std::string& condition, Workers& workers,
                         const SearchOptions& options, const SearchCalls& calls);

}  // namespace pipewright::search
