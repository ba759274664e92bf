#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Removes idle cells: every pass starts as early as its device's order and its inputs allow.
// Throws Deadlock if that order can never run.
Grid squeeze(const Grid& grid);

}  // namespace pipewright::schedules
