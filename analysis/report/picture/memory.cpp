#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/picture/layout.hpp"
#include "analysis/report/picture/memory_panel.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/report/picture/titles.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double memory_page_width = 1200;  // All lengths are in points.
constexpr double axis_room = 40;            // Room for the axis labels, left of the panels.
constexpr double panel_gap = 14;            // Gap between panels.
constexpr double title_room = 22;           // Room for the title above each panel.
constexpr std::size_t max_panels = 64;

std::size_t panel_columns(std::size_t panels) {
  if (panels <= 2) return 1;
  if (panels <= 4) return 2;
  if (panels <= 12) return 3;
  if (panels <= 24) return 4;
  return 8;
}

std::size_t fullest_device(const Summary& run) {
  const auto fullest = std::ranges::max_element(run.devices, {}, &DeviceSummary::peak_memory_bytes);
  return static_cast<std::size_t>(fullest - run.devices.begin());
}

MemoryPanel device_panel(const Summary& run, std::size_t device, std::vector<MemoryStep> steps,
                         std::string name) {
  const DeviceSummary& summary = run.devices[device];
  return {std::move(name),     std::move(steps),
          run.makespan_s,      static_cast<double>(summary.peak_memory_bytes),
          summary.peak_time_s, static_cast<double>(summary.memory_capacity_bytes)};
}

// Returns the indices of the devices to draw: all of them or, if there are too many, every n-th and
// the device with the highest peak.
std::vector<std::size_t> drawn_devices(const Summary& run) {
  const std::size_t devices = run.devices.size();
  const std::size_t step = (devices + max_panels - 1) / max_panels;
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < devices; i += std::max<std::size_t>(1, step)) drawn.push_back(i);
  const std::size_t fullest = fullest_device(run);
  if (std::ranges::find(drawn, fullest) == drawn.end())
    *std::ranges::min_element(drawn, {}, [&](std::size_t device) {
      return std::abs(static_cast<double>(device) - static_cast<double>(fullest));
    }) = fullest;
  return drawn;
}

std::vector<MemoryPanel> memory_panels(std::span<const trace::Trace> runs,
                                       std::span<const Summary> summaries) {
  std::vector<MemoryPanel> panels;
  if (runs.size() == 1) {
    auto steps = memory_steps(runs[0]);
    for (const std::size_t device : drawn_devices(summaries[0])) {
      const std::string& host = runs[0].devices[device].host;
      panels.push_back(
          device_panel(summaries[0], device, std::move(steps[device]),
                       fmt::format("device {}{}{}", device, host.empty() ? "" : "  ", host)));
    }
    return panels;
  }
  const std::vector<std::string> names = run_names(summaries);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].devices.empty()) continue;
    const std::size_t device = fullest_device(summaries[i]);
    panels.push_back(device_panel(summaries[i], device, std::move(memory_steps(runs[i])[device]),
                                  fmt::format("{}: device {}", names[i], device)));
  }
  return panels;
}

std::vector<Swatch> memory_legend(const std::vector<MemoryPanel>& panels, const MemoryAxes& axes) {
  std::vector<Swatch> legend;
  for (std::size_t category = 0; category < trace::memory_categories; ++category)
    if (std::ranges::any_of(panels, [&](const MemoryPanel& panel) {
          return std::ranges::any_of(panel.steps,
                                     [&](auto& step) { return step.bytes[category] > 0; });
        }))
      legend.push_back({memory_styles[category].colour, memory_styles[category].words});
  if (std::ranges::any_of(panels, [&](const MemoryPanel& panel) {
        return panel.capacity_bytes > 0 && panel.capacity_bytes <= axes.axis_bytes;
      }))
    legend.push_back({ink, "capacity", Swatch::Kind::dashes});
  double capacity_above = 0;  // Smallest capacity that lies above all panels.
  for (const MemoryPanel& panel : panels)
    if (panel.capacity_bytes > axes.axis_bytes &&
        (capacity_above == 0 || panel.capacity_bytes < capacity_above))
      capacity_above = panel.capacity_bytes;
  if (capacity_above > 0)
    legend.push_back({ink,
                      fmt::format("capacity {} (above)",
                                  format_bytes(static_cast<std::uint64_t>(capacity_above))),
                      Swatch::Kind::dashes});
  legend.push_back({ink, "peak", Swatch::Kind::dot});
  return legend;
}

}  // namespace

void draw_memory(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                 PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture of memory needs at least one run");
  std::vector<Summary> summaries;
  for (const trace::Trace& run : runs) summaries.push_back(summarize(run));
  const std::vector<MemoryPanel> panels = memory_panels(runs, summaries);
  if (std::ranges::all_of(panels, [](auto& panel) { return panel.peak_bytes <= 0; }))
    throw trace::TraceError(fmt::format(
        "{}: there is no memory to draw: the runs have no model and no bytes of activations or "
        "state",
        file.string()));

  const std::size_t columns = panel_columns(panels.size());
  const std::size_t rows = (panels.size() + columns - 1) / columns;
  const double left = page_margin + axis_room;
  const double right = memory_page_width - page_margin - 6;
  const double pitch = (right - left + panel_gap) / static_cast<double>(columns);
  const double width = pitch - panel_gap;
  const double height = std::clamp(width * 0.45, 80.0, 260.0);
  const MemoryAxes axes = memory_axes(panels, width, height);
  const std::vector<Swatch> legend = memory_legend(panels, axes);

  const double subject = page_margin + 12;
  const double heading = subject + 20;
  const double top = last_baseline(legend, left, right, heading + 22) + 24;
  const double row_height = height + title_room;
  const double bottom = top + static_cast<double>(rows) * row_height;
  const std::unique_ptr<Canvas> page =
      make_canvas(kind, memory_page_width, bottom + 36 + page_margin);
  Canvas& canvas = *page;

  draw_subject(canvas, left, right, subject, common_subject(summaries));
  const RunTitle title = run_titles(summaries).front();
  std::string details = title.details;
  if (panels.size() < runs[0].devices.size())
    details += fmt::format(", {} of {} devices", panels.size(), runs[0].devices.size());
  if (runs.size() == 1)
    draw_heading(canvas, left, right, heading, run_names(summaries).front(), details);
  else
    draw_heading(canvas, left, right, heading, "Memory over time", "fullest device of each run");
  draw_swatches(canvas, legend, left, right, heading + 22);
  canvas.text(page_margin, top + 2, axes.unit, {.size = 9.5, .colour = faint_ink});
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const std::size_t row = i / columns;
    const double x = left + static_cast<double>(i % columns) * pitch;
    const double y = top + static_cast<double>(row) * row_height + title_room - 8;
    draw_memory_panel(canvas, {x, y, x + width, y + height}, panels[i], axes, i % columns == 0,
                      i + columns >= panels.size());
  }
  canvas.text((left + right) / 2, bottom + 26, fmt::format("time ({})", axes.ticks.unit),
              {.size = 10, .align = Align::centre});
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
