#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

// Which rows a fit does not see, so that they can tell how good it is.
namespace pipewright::comm {

// Of each curve by size, every other one, the second and fourth or the first and third. Rows of one
// size are held out together.
enum class HoldOut { odd, even, none };
std::vector<bool> held_out_rows(std::span<const analysis::Measurement> rows, HoldOut which);

// A way to hold rows out: one part of them, or each of several parts in turn, for each of which a
// fit is made to all others.
struct HeldOutWay {
  std::string name;                      // "the upper half of sizes"
  std::vector<std::vector<bool>> parts;  // of the rows
  std::string lacks;                     // why there are none: "all rows are of one operation"
};

// Every other size, which says how a fit interpolates; and what says how it goes beyond what it was
// fitted to: the upper half of sizes of each curve, the largest number of ranks, and each whole
// operation.
std::vector<HeldOutWay> held_out_ways(std::span<const analysis::Measurement> rows);

// Those that go beyond the other rows, and the lower half of sizes, as far as the rows have them.
std::vector<HeldOutWay> ways_beyond(std::span<const analysis::Measurement> rows);

}  // namespace pipewright::comm
