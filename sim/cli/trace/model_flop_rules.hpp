#pragma once

#include <vector>

#include "analysis/measured/compare/flop_count.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::cli {

// Returns the ways in which programs count the FLOPs of a token that need the model in the scenario
// of a run: 6 FLOPs for each parameter, and experts that a token visits counted once. Empty if the
// run has no model.
std::vector<analysis::FlopRule> model_flop_rules(const trace::RunInfo& run);

}  // namespace pipewright::cli
