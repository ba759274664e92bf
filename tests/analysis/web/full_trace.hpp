#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// A 1F1B run whose devices hold seven components of memory; device 0 exceeds its capacity. Two of
// its three links have pieces of time, the first one with contention; the third has one row for the
// run.
trace::Trace full_trace(std::uint32_t microbatches = 8);

}  // namespace pipewright::analysis::test
