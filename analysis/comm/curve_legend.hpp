#pragma once

#include <span>

#include "analysis/comm/curve_picture.hpp"
#include "analysis/timeline/canvas.hpp"

// Which mark is which curve, and how large the errors of each are. Included by .cpp files only.
namespace pipewright::analysis {

double legend_height(std::span<const DrawnCurve> curves);
void draw_curve_legend(Canvas& canvas, std::span<const DrawnCurve> curves, double left,
                       double right, double top);

}  // namespace pipewright::analysis
