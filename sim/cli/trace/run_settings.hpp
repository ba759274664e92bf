#pragma once

#include "analysis/measured/compare/trace_comparison.hpp"

namespace pipewright::cli {

// Adds to each run of a comparison the settings in which the run's scenario differs from that of
// the first run. Runs without a scenario get none. Throws an Error for a scenario that is no YAML.
void add_settings(analysis::TraceComparison& comparison);

}  // namespace pipewright::cli
