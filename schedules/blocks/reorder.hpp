#pragma once

#include "schedules/blocks/grid.hpp"

namespace pipewright::schedules {

// Moves passes, from the first cell to the last, to the earliest idle cells after their inputs. A
// pass that begins to hold an activation moves only as far as its device stays within its peak.
// `peaks` has the largest number of activations of a stage for each device.
Grid slide(const Grid& grid, const std::vector<std::int64_t>& peaks);

// Fills the idle cells of warm-up and cool-down with later passes of the same device, without
// raising the activations of any device above its peak: passes slide to the left, then warm-up and
// cool-down are justified (justify.hpp). The result does not end later than `grid`.
Grid reorder(const Grid& grid, const std::vector<std::int64_t>& peaks);

// Returns the largest number of activations (each of one microbatch on one stage) that each device
// holds at a time.
std::vector<std::int64_t> peaks_of(const Grid& grid);

}  // namespace pipewright::schedules
