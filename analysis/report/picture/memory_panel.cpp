#include "analysis/report/picture/memory_panel.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "analysis/report/palette.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr Colour memory_grid_colour{0.88, 0.89, 0.90};
constexpr double points_per_column = 0.5;
// The line at the capacity is left out if the capacity exceeds the peak by more than this factor.
constexpr double max_capacity_ratio = 3;

// Draws the categories from the top of the stack down. Each one also covers the area below it, so
// that no seams show.
void draw_memory_stack(Canvas& canvas, const Area& place, const std::vector<MemoryStep>& steps,
                       const MemoryAxes& axes, double end_s) {
  const auto x = [&](double s) {
    return place.left + std::min(1.0, s / axes.span_s) * (place.right - place.left);
  };
  for (std::size_t upper = trace::memory_categories; upper > 0; --upper) {
    const std::size_t category = upper - 1;
    if (std::ranges::all_of(steps, [&](auto& step) { return step.bytes[category] == 0; })) continue;
    std::vector<Point> outline;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      double bytes = 0;
      for (std::size_t lower = 0; lower < upper; ++lower) bytes += steps[i].bytes[lower];
      const double y = place.bottom - bytes / axes.axis_bytes * (place.bottom - place.top);
      outline.push_back({x(steps[i].s), y});
      outline.push_back({x(i + 1 < steps.size() ? steps[i + 1].s : end_s), y});
    }
    outline.push_back({outline.back().x, place.bottom});
    outline.push_back({outline.front().x, place.bottom});
    canvas.polygon(outline);
    canvas.fill(memory_styles[category].colour);
  }
}

void draw_memory_axes(Canvas& canvas, const Area& place, const MemoryAxes& axes, bool at_left,
                      bool at_bottom) {
  for (int i = 0; i * axes.step_bytes <= axes.axis_bytes * (1 + 1e-9); ++i) {
    const double bytes = i * axes.step_bytes;
    const double y = place.bottom - bytes / axes.axis_bytes * (place.bottom - place.top);
    canvas.line(place.left, y, place.right, y, memory_grid_colour, 0.6);
    if (at_left)
      canvas.text(place.left - 5, y + 3, fmt::format("{:g}", bytes / axes.unit_bytes),
                  {.size = 9, .align = Align::right});
  }
  for (const Tick& tick : axes.ticks.ticks) {
    const double x = place.left + tick.s / axes.span_s * (place.right - place.left);
    canvas.line(x, place.bottom, x, place.bottom + 3, ink, 0.6);
    if (at_bottom)
      canvas.text(x, place.bottom + 13, tick.label, {.size = 9, .align = Align::centre});
  }
}

}  // namespace

double MemoryStep::total() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

std::vector<std::vector<MemoryStep>> memory_steps(const trace::Trace& trace) {
  std::vector<std::vector<MemoryStep>> devices(trace.devices.size());
  for (const trace::MemoryRow& row : trace.memory) {
    std::vector<MemoryStep>& steps = devices.at(row.device);
    if (steps.empty() || steps.back().s != row.time) {
      steps.push_back(steps.empty() ? MemoryStep{} : steps.back());
      steps.back().s = row.time;
    }
    steps.back().bytes.at(static_cast<std::size_t>(row.category)) = static_cast<double>(row.bytes);
  }
  return devices;
}

std::vector<MemoryStep> coarsen(const std::vector<MemoryStep>& steps, double span_s,
                                std::size_t columns) {
  if (steps.size() <= columns || span_s <= 0) return steps;
  const double width = span_s / static_cast<double>(columns);
  std::vector<MemoryStep> coarse;
  MemoryStep current;  // State at the start of the column.
  std::size_t next = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    MemoryStep fullest = current;
    const bool last = column + 1 == columns;
    const double end = static_cast<double>(column + 1) * width;
    for (; next < steps.size() && (last || steps[next].s < end); ++next) {
      current = steps[next];
      if (current.total() > fullest.total()) fullest = current;
    }
    fullest.s = static_cast<double>(column) * width;
    coarse.push_back(fullest);
  }
  return coarse;
}

MemoryAxes memory_axes(const std::vector<MemoryPanel>& panels, double width, double height) {
  MemoryAxes axes;
  double peak = 0;
  for (const MemoryPanel& panel : panels) {
    axes.span_s = std::max(axes.span_s, panel.end_s);
    peak = std::max(peak, panel.peak_bytes);
  }
  if (axes.span_s <= 0) axes.span_s = 1;
  double max_bytes = peak;
  for (const MemoryPanel& panel : panels)
    if (panel.capacity_bytes <= max_capacity_ratio * peak)
      max_bytes = std::max(max_bytes, panel.capacity_bytes);
  constexpr std::array<const char*, 7> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const auto* unit = units.begin();
  while (max_bytes / axes.unit_bytes >= 1024 && std::next(unit) != units.end()) {
    axes.unit_bytes *= 1024;
    ++unit;
  }
  axes.unit = *unit;
  const double lines = std::clamp(height / 26, 2.0, 8.0);
  axes.step_bytes =
      round_step(std::max(max_bytes, 1.0) / axes.unit_bytes / lines) * axes.unit_bytes;
  axes.axis_bytes = max_bytes * 1.06;
  axes.ticks = time_ticks(axes.span_s, std::max(1, static_cast<int>(width / 55)));
  return axes;
}

void draw_memory_panel(Canvas& canvas, const Area& place, const MemoryPanel& panel,
                       const MemoryAxes& axes, bool at_left, bool at_bottom) {
  const double width = place.right - place.left;
  canvas.rectangle(place.left, place.top, place.right, place.bottom);
  canvas.fill(idle_paint);
  draw_memory_axes(canvas, place, axes, at_left, at_bottom);
  const auto columns = static_cast<std::size_t>(width / points_per_column);
  if (!panel.steps.empty())
    draw_memory_stack(canvas, place, coarsen(panel.steps, axes.span_s, columns), axes, panel.end_s);
  if (panel.capacity_bytes > 0 && panel.capacity_bytes <= axes.axis_bytes) {
    const double y =
        place.bottom - panel.capacity_bytes / axes.axis_bytes * (place.bottom - place.top);
    canvas.dashes(place.left, y, place.right, y, ink, 0.9);
  }
  canvas.line(place.left, place.bottom, place.right, place.bottom, ink, 0.7);

  const TextStyle words{.size = width < 180 ? 8.5 : 10};
  TextStyle fainter = words;
  fainter.align = Align::right;
  fainter.colour = faint_ink;
  const std::string peak =
      panel.peak_bytes > 0 ? format_bytes(static_cast<std::uint64_t>(panel.peak_bytes)) : "none";
  canvas.text(place.right, place.top - 5, peak, fainter);
  const double name_room = width - canvas.text_width(peak, fainter) - 8;
  canvas.text(place.left, place.top - 5, canvas.fitted(panel.name, name_room, words), words);
  if (panel.peak_bytes <= 0) return;
  const double x = place.left + panel.peak_s / axes.span_s * width;
  const double y = place.bottom - panel.peak_bytes / axes.axis_bytes * (place.bottom - place.top);
  canvas.dot(x, y, 3, {1, 1, 1});
  canvas.dot(x, y, 2.2, ink);
}

}  // namespace pipewright::analysis
