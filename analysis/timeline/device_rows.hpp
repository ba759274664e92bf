#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The passes of each device in order of time; they point into the trace.
std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace);

}  // namespace pipewright::analysis
