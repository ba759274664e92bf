#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Makes a schedule from a building block by repeating, squeezing and reordering it. A steady state
// is planned once and then repeated, so the cost does not depend on the number of microbatches.
Schedule build(const BuildingBlock& block, std::uint32_t microbatches,
               std::uint32_t iterations = 1);

// Returns, for each device, the largest number of activations (each of one microbatch on one stage)
// that it may hold after reordering.
std::vector<std::int64_t> allowed_peaks(const BuildingBlock& block, const Grid& repeated);

}  // namespace pipewright::schedules
