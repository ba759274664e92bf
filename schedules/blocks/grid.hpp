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

// Passes on a squared sheet, a row per device in order of time: what the steps of the framework
// hand to each other.
struct Grid {
  std::string name;
  Routes routes;
  std::uint32_t microbatches = 0;
  CellLengths lengths = unit_lengths;
  std::vector<bool> recomputed;  // as in Schedule
  std::vector<std::vector<Cell>> rows;
};

// The order of a grid's passes, without their cells: by device, and as a schedule.
std::vector<std::vector<Pass>> order_of(const Grid& grid);
Schedule to_schedule(const Grid& grid);

// One block every `interval` cells, until `microbatches` are covered; what the last block holds
// beyond them is left out. Throws Error, naming device, cell and passes, where two would collide.
Grid repeat(const BuildingBlock& block, std::uint32_t microbatches);

// Removes idle cells: every pass starts as early as its device's order and its inputs allow.
// Throws Deadlock if that order can never run.
Grid squeeze(const Grid& grid);

// The lengths as the durations of a timing; a cell is a second.
PassTimes times_in_cells(const CellLengths& lengths, std::uint32_t stages);

}  // namespace pipewright::schedules
