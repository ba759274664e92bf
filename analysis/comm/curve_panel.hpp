#pragma once

#include <span>

#include "analysis/comm/curve_picture.hpp"
#include "analysis/timeline/canvas.hpp"

// One panel of curve_picture: a legend, the curves, their errors. Included by .cpp files only.
namespace pipewright::analysis {

inline constexpr std::size_t most_curves = 8;  // of a panel

struct PanelPlace {
  double margin, left, right;  // of the legend; of the plots; of both
  double top;
};

// Up to `most_curves`, with at least one row of more than 0 bytes among them.
double panel_height(std::span<const DrawnCurve> curves);
void draw_panel(Canvas& canvas, std::span<const DrawnCurve> curves, CurveAxis axis,
                const PanelPlace& place);

}  // namespace pipewright::analysis
