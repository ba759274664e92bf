#pragma once

#include <cstdint>

#include "analysis/trace/rows.hpp"

namespace pipewright::trace {

// The trace of a run's first iterations, of one that went on or was stopped within a later one.
// What later iterations did before the last of these had ended is left out.
Trace first_iterations(Trace trace, std::uint32_t iterations);

}  // namespace pipewright::trace
