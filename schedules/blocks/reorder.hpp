#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Moves each pass, in order of its cells, to the earliest idle ones behind its inputs; where it
// takes an activation, only as far as its device does not hold its peak already (activations of a
// stage each, by device).
Grid slide(const Grid& grid, const std::vector<std::int64_t>& peaks);

// Fills the idle cells of warm-up and cool-down with later passes of the same device, without
// raising any device's number of activations (of a stage each) above its peak: passes slide to
// the left, then warm-up and cool-down are justified (justify.hpp). No pass of the
// result ends after the last of `grid`.
Grid reorder(const Grid& grid, const std::vector<std::int64_t>& peaks);

// The most activations, of a stage each, that every device holds in a grid at any time.
std::vector<std::int64_t> peaks_of(const Grid& grid);

}  // namespace pipewright::schedules
