#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/palette.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The passes of each device in order of time; they point into the trace.
std::vector<std::vector<const trace::PassRow*>> passes_by_device(const trace::Trace& trace);

// Neighbours on a device that ran as one op: a forward and a backward of different microbatches.
inline bool are_fused(const trace::PassRow& a, const trace::PassRow& b) {
  return a.start == b.start && a.end == b.end && a.start < a.end;
}

// Of the height of a row; the two passes of a fused pair share it, the forward above.
enum class Part : std::uint8_t { whole, upper, lower };

// A rectangle of a device's row, in the units of the picture from the time axis's origin.
struct Box {
  double left;
  double right;
  Colour colour;
  const trace::PassRow* pass;  // nullptr: a blend of several passes
  Part part = Part::whole;
};

// A pass narrower than `grain` gets no box of its own: what is in each such cell of the grid blends
// with `idle` by the time that it takes, and equal neighbours become one box. So a row has at most
// width / grain blends, however many passes it has.
std::vector<Box> row_boxes(std::span<const trace::PassRow* const> passes, std::uint32_t chunks,
                           double units_per_s, double grain, Colour idle);

}  // namespace pipewright::analysis
