#pragma once

#include <string>
#include <vector>

#include "analysis/report/canvas/canvas.hpp"

namespace pipewright::analysis {

struct Swatch {
  enum class Kind : std::uint8_t { field, hatched, line, dashes, dot, cross };
  Colour colour;
  std::string words;
  Kind kind = Kind::field;
};

// A legend from `left` to `right`, in as many lines as it takes; the first stands on `baseline`.
// Gives the base line of the last one; draws nothing where `really` is false. Included by .cpp
// files only.
double draw_swatches(Canvas& canvas, const std::vector<Swatch>& swatches, double left, double right,
                     double baseline, bool really = true);

inline constexpr double legend_line = 17;  // from one line to the next

// The line above a picture: a name, which takes at most this part of it, and details in fainter ink
// as far as there is room.
void draw_heading(Canvas& canvas, double left, double right, double baseline,
                  const std::string& name, const std::string& details, double most_of_name = 0.7);

void draw_cross(Canvas& canvas, double x, double y, Colour colour);

}  // namespace pipewright::analysis
