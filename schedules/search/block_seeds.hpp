#pragma once

#include "schedules/blocks/building_block.hpp"
#include "schedules/justify.hpp"

namespace pipewright::schedules {

// Returns building blocks of passes of equal length whose memory fits, at most `max_blocks`, those
// that use the memory best first. A microbatch goes down the devices and up again: once for F and I
// of one chunk in the looped shape, twice in the V. On each way, the number of cells from one
// device to the next is constant, or changes once. The interval is longer than the passes if memory
// requires it.
std::vector<BuildingBlock> block_seeds(const Pipeline& pipeline, std::size_t max_blocks);

}  // namespace pipewright::schedules
