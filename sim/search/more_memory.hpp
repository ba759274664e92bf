#pragma once

#include <optional>

#include "analysis/report/search/robustness.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// The least memory of a GPU beyond what it has with which another candidate wins: found by a search
// over the sweep on GPUs of twice the memory, with what is known of this one. Nothing if none does.
// Throws as run_search().
std::optional<analysis::Turn> more_memory(const analysis::SearchRun& run,
                                          const config::Value& sweep, Workers& workers,
                                          const SearchOptions& options, const SearchCalls& calls);

}  // namespace pipewright::search
