#pragma once

#include <cstdint>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/building_block.hpp"

namespace pipewright::workload {

// Assigns a cell of a device to each pass of a user's building block, except to W passes that the
// block does not mention, for which place_weight_grads finds cells. Throws config::Error at the leg
// if two passes would collide in any repetition of the block.
schedules::BuildingBlock place_legs(const config::BuildingBlock& spec, std::uint32_t devices);

}  // namespace pipewright::workload
