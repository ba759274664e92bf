#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/blocks/building_block.hpp"
#include "schedules/costs.hpp"

namespace pipewright::schedules {

struct Cell {
  Pass pass;
  std::int64_t start = 0;
};

// Passes of each device with the cells that they take, in order of time. repeat() makes a grid from
// a block; the other steps of the framework take one and return one.
struct Grid {
  std::string name;
  Routes routes;
  std::uint32_t microbatches = 0;
  CellLengths lengths = unit_lengths;
  std::vector<bool> recomputed;  // As in Schedule.
  std::vector<std::vector<Cell>> rows;
};

// Return the order of a grid's passes, without their cells: as lists by device, or as a schedule.
std::vector<std::vector<Pass>> order_of(const Grid& grid);
Schedule to_schedule(const Grid& grid);

// Repeats the block every `interval` cells until it covers `microbatches`; surplus microbatches of
// the last block are left out. Throws Error, naming device, cell and passes, if two passes collide.
Grid repeat(const BuildingBlock& block, std::uint32_t microbatches);

// Removes idle cells: every pass starts as early as the order of its device and its inputs allow.
// Throws Deadlock if the order can never run.
Grid squeeze(const Grid& grid);

// Converts lengths in cells to pass times, one second per cell.
PassTimes times_in_cells(const CellLengths& lengths, std::uint32_t stages);

}  // namespace pipewright::schedules
