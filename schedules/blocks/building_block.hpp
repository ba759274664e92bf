#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/routes.hpp"
#include "schedules/schedule.hpp"

// The framework of Qi et al. 2024, "Pipeline Parallelism with Controllable Memory" (arXiv
// 2405.15362): a building block is repeated and squeezed (grid.hpp), then its warm-up and cool-down
// are reordered (reorder.hpp). Time is counted in cells; the shortest pass takes one cell.
namespace pipewright::schedules {

// Length of each kind of pass in cells: F, I, W, B, R, S, T.
using CellLengths = std::array<std::int64_t, pass_kinds>;
inline constexpr CellLengths unit_lengths{1, 1, 1, 2, 1, 1, 1};

// A pass of one of the block's microbatches (`pass.microbatch` counts within the block).
struct BlockPass {
  Pass pass;
  std::int64_t cell = 0;  // Its first cell.
};

// A building block: the passes of one microbatch, or of a few, with the cells that they take.
struct BuildingBlock {
  std::string name;
  std::uint32_t devices = 0;
  Routes routes;
  std::uint32_t microbatches = 1;  // Microbatches of one block.
  std::int64_t interval = 6;       // T: cells from one block to the next.
  CellLengths lengths = unit_lengths;
  std::vector<bool> recomputed;  // As in Schedule.
  std::vector<BlockPass> passes;
  bool binding = true;    // False: the cells give only an order; inputs may arrive after them.
  bool reordered = true;  // False: the block is only repeated and squeezed.
  // Largest number of activations (each of one microbatch on one stage) that a device may hold
  // after reordering. Without a value, the limit is the device's peak in the repeated block.
  std::optional<std::uint32_t> peak;
};

// Thrown for a block that cannot run, with the pass at fault.
struct BlockError : Error {
  BlockError(const std::string& text, const Pass& at) : Error(text), pass(at) {}
  Pass pass;
};

// Adds a W for every I that lacks one, in the order of the I passes, at the first cell of its
// device that is free in every repetition. Throws BlockError if a device has too few free cells.
void place_weight_grads(BuildingBlock& block);

// Throws BlockError, naming passes and cells, unless every stage runs F of each microbatch and then
// B, or I and W, with R in between if it recomputes, and every pass starts after its inputs.
void check_block(const BuildingBlock& block);

// Returns the lifespan of each activation in cells: [microbatch * stages + stage]. It begins at the
// start of F, or of R if the stage recomputes, and ends with W or B.
std::vector<std::int64_t> lifespans(const BuildingBlock& block);

// Returns an upper bound of the memory of each device, in activations of one microbatch on a whole
// device (section 3.1 of the paper): the sum over its stages of ceil(l / T) m, where the activation
// of a stage has the size m and lives for l cells.
std::vector<double> lifespan_bound(const BuildingBlock& block);

}  // namespace pipewright::schedules
