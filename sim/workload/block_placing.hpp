#pragma once

#include <cstdint>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/building_block.hpp"

namespace pipewright::workload {

// The legs of a written block as passes on devices, but for the Ws that are left to their finding a
// place. Throws config::Error, at the leg, where two passes would ever meet in a cell.
schedules::BuildingBlock place_legs(const config::BuildingBlock& given, std::uint32_t devices);

}  // namespace pipewright::workload
