#pragma once

#include "analysis/timeline/canvas.hpp"
#include "analysis/timeline/layout.hpp"

namespace pipewright::analysis {

// One line of swatches with their meaning. Included by .cpp files only, as canvas.hpp.
void draw_legend(Canvas& canvas, const LegendContent& legend);

}  // namespace pipewright::analysis
