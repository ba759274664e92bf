#pragma once

#include <cstdint>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/building_block.hpp"

namespace pipewright::workload {

// A building block as a user wrote it, for so many devices. Throws config::Error, at the place in
// the file, for passes that are missing, or too early, or where no W fits, and for less memory than
// the repeated block takes.
schedules::BuildingBlock to_block(const config::BuildingBlock& given, std::uint32_t devices);

// Repeated, squeezed and, unless the file forbids it, reordered.
schedules::Schedule make_schedule(const config::BuildingBlock& given, std::uint32_t devices,
                                  std::uint32_t microbatches, std::uint32_t iterations);

}  // namespace pipewright::workload
