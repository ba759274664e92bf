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

// Draws a legend from `left` to `right` in as many lines as it needs, the first of them on
// `baseline`. Only .cpp files include this header.
void draw_swatches(Canvas& canvas, const std::vector<Swatch>& swatches, double left, double right,
                   double baseline);

// Returns the base line of the last line of the legend that draw_swatches draws with these
// arguments.
double last_baseline(const std::vector<Swatch>& swatches, double left, double right,
                     double baseline);

// Distance between the base lines of a legend, in points.
inline constexpr double legend_line = 17;

// Draws the line above a picture: a bold name that takes at most `max_name_share` of the width,
// then details in fainter ink, cut to the remaining width.
void draw_heading(Canvas& canvas, double left, double right, double baseline,
                  const std::string& name, const std::string& details, double max_name_share = 0.7);

void draw_cross(Canvas& canvas, double x, double y, Colour colour);

}  // namespace pipewright::analysis
