#pragma once

#include "schedules/blocks/building_block.hpp"
#include "schedules/justify.hpp"

namespace pipewright::schedules {

// Returns building blocks of unit passes whose peak fits into memory, the ones that use memory best
// first; at most `max_blocks`, with distinct offsets. A microbatch goes down the devices and up
// again (once in the looped shape of one chunk, twice in the V). Each leg has one offset per
// device, or two with a knee between them. The interval exceeds the length of the passes if memory
// requires it.
std::vector<BuildingBlock> block_seeds(const Pipeline& pipeline, std::size_t max_blocks);

}  // namespace pipewright::schedules
