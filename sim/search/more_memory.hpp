#pragma once

#include <optional>

#include "analysis/report/search/robustness.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/search.hpp"
#include "sim/search/workers.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

// Finds the least memory per GPU, above its present capacity, with which another candidate wins, by
// a search of the sweep on GPUs of twice the memory that starts from the rows of `run`. Returns
// nothing if no other candidate wins. Throws what run_search() throws: trace::TraceError and
// std::runtime_error.
std::optional<analysis::Perturbation> more_memory(const analysis::SearchRun& run,
                                                  const config::Value& sweep, Workers& workers,
                                                  const SearchOptions& options,
                                                  const SearchCalls& calls);

}  // namespace pipewright::search
