#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Moves each pass, in order of its cells, to the earliest idle ones behind its inputs; where it
// takes an activation, only as far as its device does not hold its peak already (activations of a
// stage each, by device).
Grid slide(const Grid& grid, const std::vector<std::int64_t>& peaks);

}  // namespace pipewright::schedules
