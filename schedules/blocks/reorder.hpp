#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Fills the idle cells of warm-up and cool-down with later passes of the same device, without
// raising any device's peak number of activations above `peak` (in stages' activations).
Grid reorder(const Grid& grid, std::uint32_t peak);

}  // namespace pipewright::schedules
