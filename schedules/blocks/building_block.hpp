#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/routes.hpp"
#include "schedules/schedule.hpp"

// The framework of Qi et al. 2024, "Pipeline Parallelism with Controllable Memory" (arXiv
// 2405.15362): a building block is repeated (repeat.hpp), squeezed (squeeze.hpp) and its warm-up
// and cool-down are reordered (reorder.hpp). Time is counted in cells, one being a unit pass.
namespace pipewright::schedules {

// Cells that each kind of pass takes: F, I, W, B, R.
using CellLengths = std::array<std::int64_t, pass_kinds>;
inline constexpr CellLengths unit_lengths{1, 1, 1, 2, 1};

// A pass of one of the block's microbatches (`pass.microbatch` counts within the block).
struct BlockPass {
  Pass pass;
  std::int64_t cell = 0;  // at which it starts
};

// The passes of one microbatch, or of a few, with their cells on every device.
struct BuildingBlock {
  std::string name;
  std::uint32_t devices = 0;
  Routes routes;
  std::uint32_t microbatches = 1;  // of one block
  std::int64_t interval = 6;       // T: cells from one block to the next
  CellLengths lengths = unit_lengths;
  std::vector<bool> recomputed;  // as in Schedule
  std::vector<BlockPass> passes;
  bool binding = true;    // false: the cells give an order, inputs may come after them
  bool reordered = true;  // false: repeated and squeezed alone
  // Stages' activations that any device may hold once reordered. Without it every device keeps the
  // peak that it has in the repeated block.
  std::optional<std::uint32_t> peak;
};

// A block that cannot be, by the fault of one of its passes.
struct BlockError : Error {
  BlockError(const std::string& text, const Pass& at) : Error(text), pass(at) {}
  Pass pass;
};

// Puts a W behind every I that has none, at the first cell of its device that is free in every
// repetition, in the order of the Is. Throws BlockError where the device has too few free cells.
void place_weight_grads(BuildingBlock& block);

// Throws BlockError, naming passes and cells, unless every stage runs each microbatch's F and then
// B, or I and W (with R between, where it recomputes), and no pass starts before what it needs has
// ended.
void check_block(const BuildingBlock& block);

// How many cells each activation lives, from the start of F (of R, where there is one) to the end
// of W or B: [microbatch * stages + stage].
std::vector<std::int64_t> lifespans(const BuildingBlock& block);

// Memory bound of section 3.1: on each device, the sum over its stages of ceil(l / T) m, where l is
// how many cells an activation lives and m what one takes, in microbatches of a whole device.
std::vector<double> lifespan_bound(const BuildingBlock& block);

}  // namespace pipewright::schedules
