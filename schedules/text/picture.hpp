#pragma once

#include <cstddef>
#include <string>

#include "schedules/blocks/grid.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// The schedule as the papers draw it: a row per device, time to the right, F one cell per
// chunk-time, B two, dots where the device idles. Chunks are told apart by a letter.
std::string draw_text(const Schedule& schedule);

// A building block as the papers draw it: one microbatch's passes, a row per device, the interval
// on a ruler above; and below, how long the activations live and what that means for memory.
std::string draw_text(const BuildingBlock& block, std::size_t columns = 0);

// A sheet of passes, with its bubble and its peak of activations in a line above it. Rows of more
// than so many characters go on below; 0: never.
std::string draw_text(const Grid& grid, std::int64_t ruler, std::size_t columns = 0);

}  // namespace pipewright::schedules
