#pragma once

#include "analysis/timeline/canvas.hpp"
#include "analysis/timeline/layout.hpp"

namespace pipewright::analysis {

Colour optimizer_colour();
Colour collective_colour(trace::CollectiveKind kind);

// A line of swatches with their meaning, and another for what there is beside passes. Included by
// .cpp files only, as canvas.hpp.
void draw_legend(Canvas& canvas, const LegendContent& legend);

}  // namespace pipewright::analysis
