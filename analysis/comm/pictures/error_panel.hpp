#pragma once

#include <span>

#include "analysis/comm/comparison.hpp"
#include "analysis/comm/pictures/log_scale.hpp"
#include "analysis/curve/label_places.hpp"
#include "analysis/timeline/canvas.hpp"

// The errors below the curves, and what both have in common. Included by .cpp files only.
namespace pipewright::analysis {

inline constexpr double banded_error = 0.2;
inline constexpr Colour band_colour = idle_paint;

void draw_errors(Canvas& canvas, std::span<const DrawnCurve> curves, const LogScale& x,
                 const Area& plot);

void draw_size_grid(Canvas& canvas, const LogScale& x, const Area& plot);
void draw_frame(Canvas& canvas, const Area& plot);
double mark_radius(const DrawnCurve& curve);

}  // namespace pipewright::analysis
