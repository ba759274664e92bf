#pragma once

#include <cstddef>
#include <span>

#include "analysis/commlogs/comparison.hpp"
#include "analysis/commlogs/pictures/log_scale.hpp"
#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/plot.hpp"

// Colours and marks that distinguish the curves of a picture, and the panel of their errors. Only
// .cpp files include this header.
namespace pipewright::analysis {

// Colours are those of Okabe and Ito except yellow, which is lost on white, then ink and wine.
// Curves whose colours look alike to some eyes have marks of different shapes.
Colour curve_colour(std::size_t curve);

// Draws a circle, square, triangle or diamond, chosen by the index of the curve. Hollow marks are
// white inside.
void draw_mark(Canvas& canvas, std::size_t curve, double x, double y, double radius, bool hollow);

// Returns the height of, or draws, the legend: for each curve its mark, name and errors.
double legend_height(std::span<const DrawnCurve> curves);
void draw_curve_legend(Canvas& canvas, std::span<const DrawnCurve> curves, double left,
                       double right, double top);

// Relative error up to which a measured row lies within the grey band.
inline constexpr double error_band = 0.2;
inline constexpr Colour band_colour = idle_paint;

// Draws the panel with the errors of all rows.
void draw_errors(Canvas& canvas, std::span<const DrawnCurve> curves, const LogScale& x,
                 const Area& plot);

// Drawing functions that the panel of the curves and the panel of their errors share.
inline constexpr int max_size_labels = 12;  // Most size labels of an axis.
void draw_size_grid(Canvas& canvas, const LogScale& x, const Area& plot,
                    int max_ticks = max_size_labels);
void draw_size_labels(Canvas& canvas, const LogScale& x, const Area& plot,
                      int max_ticks = max_size_labels);
void draw_value_grid(Canvas& canvas, const LogScale& y, std::span<const LogTick> ticks,
                     const Area& plot);
void draw_frame(Canvas& canvas, const Area& plot);
double mark_radius(const DrawnCurve& curve);

}  // namespace pipewright::analysis
