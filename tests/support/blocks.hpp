#pragma once

#include "schedules/blocks/building_block.hpp"

namespace pipewright::tests {

// 1F1B as a block: F one cell a device, B two cells a device on the way back.
schedules::BuildingBlock one_f_one_b_block(std::uint32_t devices);

}  // namespace pipewright::tests
