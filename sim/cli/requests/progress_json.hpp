#pragma once

#include <nlohmann/json.hpp>

#include "analysis/report/search/rows.hpp"
#include "sim/search/coordinator.hpp"

namespace pipewright::cli {

// Describes how far a search is, for clients that show it: {"phase": "best", "candidates": ..,
// "assessed": .., "still_needed": .., "outcomes": {..}, "best": candidate or null, "gap": ..}.
nlohmann::ordered_json progress_json(const search::State& state, const analysis::SearchRun& run);

}  // namespace pipewright::cli
