#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// One block every `interval` cells, until `microbatches` are covered; what the last block holds
// beyond them is left out. Throws Error, naming device, cell and passes, where two would collide.
Grid repeat(const BuildingBlock& block, std::uint32_t microbatches);

}  // namespace pipewright::schedules
