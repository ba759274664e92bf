#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The passes of each device in order of time; they point into the trace.
std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace);

// Neighbours on a device that ran as one op: a forward and a backward of different microbatches.
inline bool are_fused(const trace::PassRow& a, const trace::PassRow& b) {
  return a.start == b.start && a.end == b.end && a.start < a.end;
}

}  // namespace pipewright::analysis
