#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// Returns a 1F1B run with everything that lanes of the page show: transfers (those to the last
// device wait for their receiver), reductions of gradients, gathering of weights, an optimizer
// step, waits within passes, and the links that boundary tensors use.
trace::Trace lane_trace(std::uint32_t microbatches = 8, std::uint32_t devices = 4);

}  // namespace pipewright::analysis::test
