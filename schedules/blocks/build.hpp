#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Makes a schedule from a block by repeating, squeezing and reordering it. If the schedule has a
// steady state, it is made once and repeated, so the cost does not depend on the number of
// microbatches.
Schedule build(const BuildingBlock& block, std::uint32_t microbatches,
               std::uint32_t iterations = 1);

// Returns the peak of each device that reordering must respect, in activations of a stage.
std::vector<std::int64_t> allowed_peaks(const BuildingBlock& block, const Grid& repeated);

}  // namespace pipewright::schedules
