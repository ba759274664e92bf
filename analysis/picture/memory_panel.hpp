#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/curve/label_places.hpp"
#include "analysis/picture/memory_steps.hpp"
#include "analysis/timeline/axis.hpp"
#include "analysis/timeline/canvas.hpp"

namespace pipewright::analysis {

// One device: what stands above its panel, and what is in it.
struct MemoryPanel {
  std::string name;
  std::vector<MemoryStep> steps;
  double end_s = 0;
  double peak_bytes = 0;
  double peak_s = 0;
  double capacity_bytes = 0;  // 0: unknown
};

// What all panels of a picture share.
struct MemoryAxes {
  double span_s = 0;
  double most_bytes = 0;  // at the top
  double step_bytes = 0;  // from one grid line to the next
  double unit_bytes = 1;
  const char* unit = "B";
  TimeTicks ticks;
};

MemoryAxes memory_axes(const std::vector<MemoryPanel>& panels, double width, double height);

// Labels stand beside the axes of a panel only where it is at the left, or at the bottom.
void draw_memory_panel(Canvas& canvas, const Area& place, const MemoryPanel& panel,
                       const MemoryAxes& axes, bool at_left, bool at_bottom);

}  // namespace pipewright::analysis
