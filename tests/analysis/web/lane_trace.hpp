#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// A 1F1B run with all that lanes show: transfers, of which those to the last device wait for their
// receiver, reductions of gradients and gathering of weights, an optimizer's step, waits
// within passes, and the links that boundary tensors take.
trace::Trace lane_trace(std::uint32_t microbatches = 8, std::uint32_t devices = 4);

}  // namespace pipewright::analysis::test
