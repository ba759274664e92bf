#pragma once

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis::test {

// A 1F1B run whose devices hold seven components, of which device 0 holds more than it can, and
// with three links: two in pieces of time, on the first of which flows wait, and one as a whole.
trace::Trace full_trace(std::uint32_t microbatches = 8);

}  // namespace pipewright::analysis::test
