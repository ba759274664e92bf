#pragma once

#include "schedules/blocks/building_block.hpp"
#include "schedules/justify.hpp"

namespace pipewright::schedules {

// Building blocks of unit passes whose peak fits: a microbatch goes down the devices and up again
// (once in the looped shape of one chunk, twice in the V), each leg with one offset per device, or
// with two, after a knee. The interval grows beyond the passes' own length where memory is too
// short for that. Those that use memory best come first; at most `most`, with distinct offsets.
std::vector<BuildingBlock> block_seeds(const Pipeline& pipeline, std::size_t most);

}  // namespace pipewright::schedules
