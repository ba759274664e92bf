#pragma once

#include "analysis/timeline/canvas.hpp"
#include "analysis/timeline/layout.hpp"
#include "analysis/timeline/titles.hpp"

namespace pipewright::analysis {

// One run: title, device labels, and a row of boxes for each device.
void draw_panel(Canvas& canvas, const Layout& layout, const PanelPlace& place,
                const trace::Trace& run, const RunTitle& title, double makespan_s);

}  // namespace pipewright::analysis
