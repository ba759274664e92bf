#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// Returns a trace of two devices with two chunks each, placed in a V, that run 12 microbatches:
// forward passes fused with backward passes in the middle, recomputed forward passes of chunk 1 at
// the end. It is not a useful schedule.
trace::Trace fused_trace();

}  // namespace pipewright::analysis::test
