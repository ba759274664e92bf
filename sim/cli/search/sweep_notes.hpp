#pragma once

#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/config/text/value.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::cli {

// Returns what the figures of a search assume: the notes on reading the best candidate of each
// model and cluster, as `pipewright run` prints them, and the range of published values of the GPU
// of the best. Without a best candidate, the first legal one stands for all. `tree` is the sweep as
// it is written.
std::vector<std::string> sweep_notes(const config::Value& tree, const search::Space& space,
                                     const std::vector<search::ClusterFacts>& facts,
                                     const analysis::SearchRun& run);

}  // namespace pipewright::cli
