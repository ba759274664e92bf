#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// Two devices of two chunks in a V that run 12 microbatches: forwards fused with backwards in
// between, recomputed forwards of chunk 1 at the end. Not a schedule that anybody would run.
trace::Trace fused_trace();

}  // namespace pipewright::analysis::test
