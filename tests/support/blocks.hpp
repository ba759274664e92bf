#pragma once

#include "schedules/blocks/building_block.hpp"

namespace pipewright::tests {

// Returns the building block of 1F1B: F takes one cell per device, B two cells per device.
schedules::BuildingBlock one_f_one_b_block(std::uint32_t devices);

}  // namespace pipewright::tests
