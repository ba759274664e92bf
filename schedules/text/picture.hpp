#pragma once

#include <cstddef>
#include <string>

#include "schedules/blocks/grid.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// Draws a schedule as papers do: a row per device and time to the right; F takes one cell and B
// two, and dots are idle cells. A letter identifies the chunk of a pass.
std::string draw_text(const Schedule& schedule);

// Draws a building block as papers do: the passes of one microbatch in a row per device, with the
// interval on a ruler above, and below the lifespans of activations and the memory bound.
std::string draw_text(const BuildingBlock& block, std::size_t columns = 0);

// Draws a grid of passes, below a line with its bubble and its largest number of activations. Rows
// longer than `columns` characters continue below; 0 means no limit.
std::string draw_text(const Grid& grid, std::int64_t ruler, std::size_t columns = 0);

}  // namespace pipewright::schedules
