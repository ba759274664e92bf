#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/why_not.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// The part of a sweep that meets one more constraint; its candidates have the numbers that they
// have in the whole. Throws config::Error, which names `option`, for what is no constraint.
Space narrowed(const config::Value& sweep, const std::vector<ClusterFacts>& facts,
               const std::string& condition, const std::string& option);

// Why a combination of the sweep is no candidate: "the rule `tp <= 4` cuts it away". Nothing where
// it is one, of whichever shard. Throws config::Error.
std::optional<std::string> why_no_candidate(std::uint64_t candidate, const Space& space,
                                            const std::vector<ClusterFacts>& facts);

// Searches a part of a sweep, or a sweep of the same candidates on other GPUs, with what is known
// of its candidates from the whole. The workers may have worked for another search. Throws as
// run_search().
analysis::SearchRun search_part(const analysis::SearchRun& whole, const Space& part,
                                Workers& workers, const SearchOptions& options,
                                const SearchCalls& calls);

// Searches that part for its best, with what is known from searching the whole. Throws as
// run_search().
analysis::WhyNot why_not(const analysis::SearchRun& whole, const Space& part,
                         const std::string& condition, Workers& workers,
                         const SearchOptions& options, const SearchCalls& calls);

}  // namespace pipewright::search
