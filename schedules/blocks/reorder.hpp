#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Moves each pass, in order of cells, to the earliest idle cells after its inputs. A pass that
// takes an activation stays where its device is below its peak. Peaks are by device, in activations
// of a stage.
Grid slide(const Grid& grid, const std::vector<std::int64_t>& peaks);

// Fills the idle cells of warm-up and cool-down with later passes of the same device, without
// raising the activations of any device above its peak: passes slide to the left, then warm-up and
// cool-down are justified (justify.hpp). The result does not end later than `grid`.
Grid reorder(const Grid& grid, const std::vector<std::int64_t>& peaks);

// Returns the peak of each device in a grid, in activations of a stage.
std::vector<std::int64_t> peaks_of(const Grid& grid);

}  // namespace pipewright::schedules
