#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// From `s` on a device holds so many bytes in each category.
struct MemoryStep {
  double s = 0;
  std::array<double, trace::memory_categories> bytes{};

  double total() const;
};

// The memory of each device over time; one without rows has no steps.
std::vector<std::vector<MemoryStep>> memory_steps(const trace::Trace& trace);

// At most `columns` steps, of equal length, each with what its device holds in it at its fullest:
// the peak stays what it is.
std::vector<MemoryStep> coarser(const std::vector<MemoryStep>& steps, double span_s,
                                std::size_t columns);

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
