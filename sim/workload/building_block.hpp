#pragma once

#include <cstdint>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/building_block.hpp"

namespace pipewright::workload {

// Completes a user's building block for `devices` devices. Throws config::Error at the location in
// the file if passes are missing or too early, if a W fits nowhere, or if the block needs more
// memory than the file allows.
schedules::BuildingBlock to_block(const config::BuildingBlock& spec, std::uint32_t devices);

// Builds a schedule from a building block: repeats the block, closes the gaps between passes and,
// unless the file forbids it, reorders the passes.
schedules::Schedule make_schedule(const config::BuildingBlock& spec, std::uint32_t devices,
                                  std::uint32_t microbatches, std::uint32_t iterations);

}  // namespace pipewright::workload
