#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// Returns a 1F1B run whose devices hold seven categories of memory; device 0 exceeds its capacity.
// Two of its three links have their use by time interval, the first one with contention; the third
// has only totals of the run.
trace::Trace full_trace(std::uint32_t microbatches = 8);

}  // namespace pipewright::analysis::test
