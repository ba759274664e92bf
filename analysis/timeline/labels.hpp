#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// How the boxes of a run are labelled: in one size, and a kind of pass as a whole or not at all.
struct LabelStyle {
  double size = 0;       // of the font, points
  double half_size = 0;  // in boxes of half a row's height; 0: none there
  std::array<bool, trace::pass_kinds> kinds{};

  bool of(trace::PassKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
  bool any() const;
};

// A label fits when its box leaves a point beside it.
bool label_fits(std::uint32_t microbatch, double size, double box_width);

LabelStyle label_style(const trace::Trace& run, double units_per_s, double box_height);

}  // namespace pipewright::analysis
