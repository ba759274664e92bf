#pragma once

#include <cstdint>

#include "analysis/trace/rows.hpp"

namespace pipewright::trace {

// Returns the trace of a run's first iterations, for a run with more iterations or one that was
// stopped. Rows of later iterations are left out, even those before the end of the last kept
// iteration.
Trace first_iterations(Trace trace, std::uint32_t iterations);

}  // namespace pipewright::trace
