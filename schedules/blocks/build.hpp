#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// A schedule from a block: repeated, squeezed, reordered. Where the block's steady state shows, it
// is made once and repeated, so that generating costs the same for any number of microbatches.
Schedule build(const BuildingBlock& block, std::uint32_t microbatches,
               std::uint32_t iterations = 1);

// The peaks within which a block's grid is reordered, in activations of a stage, by device.
std::vector<std::int64_t> allowed_peaks(const BuildingBlock& block, const Grid& repeated);

}  // namespace pipewright::schedules
