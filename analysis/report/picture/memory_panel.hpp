#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Bytes that a device holds in each category from time `s` on.
struct MemoryStep {
  double s = 0;
  std::array<double, trace::memory_categories> bytes{};

  double total() const;
};

// Returns the memory of each device over time. A device without memory rows has no steps.
std::vector<std::vector<MemoryStep>> memory_steps(const trace::Trace& trace);

// Reduces the steps to at most `columns` steps of equal length. Each shows the device at its
// fullest within the step, so the peak is preserved.
std::vector<MemoryStep> coarsen(const std::vector<MemoryStep>& steps, double span_s,
                                std::size_t columns);

// One panel: its title, and the memory of one device.
struct MemoryPanel {
  std::string name;
  std::vector<MemoryStep> steps;
  double end_s = 0;
  double peak_bytes = 0;
  double peak_s = 0;
  double capacity_bytes = 0;  // 0 if unknown.
};

// Time axis and memory axis, which all panels of a picture share.
struct MemoryAxes {
  double span_s = 0;
  double axis_bytes = 0;  // Bytes at the upper end of the axis.
  double step_bytes = 0;  // Distance between grid lines.
  double unit_bytes = 1;
  const char* unit = "B";
  TimeTicks ticks;
};

MemoryAxes memory_axes(const std::vector<MemoryPanel>& panels, double width, double height);

// Draws tick labels only on panels at the left, or at the bottom, of the page.
void draw_memory_panel(Canvas& canvas, const Area& place, const MemoryPanel& panel,
                       const MemoryAxes& axes, bool at_left, bool at_bottom);

}  // namespace pipewright::analysis
