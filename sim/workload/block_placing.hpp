#pragma once

#include <cstdint>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/building_block.hpp"

namespace pipewright::workload {

// Places the legs of a user's building block as passes on devices, except W passes without a leg,
// for which place_weight_grads finds a place. Throws config::Error at the leg if two passes would
// collide in any repetition of the block.
schedules::BuildingBlock place_legs(const config::BuildingBlock& spec, std::uint32_t devices);

}  // namespace pipewright::workload
