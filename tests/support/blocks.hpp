#pragma once

#include "schedules/blocks/building_block.hpp"

namespace pipewright::tests {

// Returns the building block of 1F1B, in which a device spends one cell on F and two cells on B.
schedules::BuildingBlock one_f_one_b_block(std::uint32_t devices);

}  // namespace pipewright::tests
