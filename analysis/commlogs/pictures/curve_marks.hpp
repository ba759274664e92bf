#pragma once

#include <cstddef>
#include <span>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/pictures/log_scale.hpp"
#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/plot.hpp"

// How the curves of a picture are told apart, and the panel of their errors below them. Included by
// .cpp files only.
namespace pipewright::analysis {

// Okabe and Ito's, but for their yellow, which is lost on white; then ink and wine. Curves whose
// colours are close for some eyes differ in the shape of their marks.
Colour curve_colour(std::size_t curve);

// Circle, square, triangle or diamond by the number of the curve; hollow ones are white inside.
void draw_mark(Canvas& canvas, std::size_t curve, double x, double y, double radius, bool hollow);

// The legend: which mark is which curve, and how large the errors of each are.
double legend_height(std::span<const DrawnCurve> curves);
void draw_curve_legend(Canvas& canvas, std::span<const DrawnCurve> curves, double left,
                       double right, double top);

// The errors of all rows, in a band of those that are small.
inline constexpr double banded_error = 0.2;
inline constexpr Colour band_colour = idle_paint;

void draw_errors(Canvas& canvas, std::span<const DrawnCurve> curves, const LogScale& x,
                 const Area& plot);

// What both panels have in common.
inline constexpr int most_sizes = 12;  // with labels
void draw_size_grid(Canvas& canvas, const LogScale& x, const Area& plot, int most = most_sizes);
void draw_size_labels(Canvas& canvas, const LogScale& x, const Area& plot, int most = most_sizes);
void draw_value_grid(Canvas& canvas, const LogScale& y, std::span<const LogTick> ticks,
                     const Area& plot);
void draw_frame(Canvas& canvas, const Area& plot);
double mark_radius(const DrawnCurve& curve);

}  // namespace pipewright::analysis
