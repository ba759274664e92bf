#pragma once

#include "schedules/blocks/grid.hpp"
#include "schedules/costs.hpp"

namespace pipewright::schedules {

// Removes idle cells: every pass starts as early as its device's order and its inputs allow.
// Throws Deadlock if that order can never run.
Grid squeeze(const Grid& grid);

// The lengths as the durations of a timing; a cell is a second.
PassTimes times_in_cells(const CellLengths& lengths, std::uint32_t stages);

}  // namespace pipewright::schedules
