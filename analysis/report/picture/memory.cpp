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

constexpr double page_width = 1200;  // points, as all lengths here
constexpr double axis_room = 40;     // left of the panels
constexpr double panel_gap = 14;     // between them
constexpr double title_room = 22;    // above each
constexpr std::size_t most_panels = 64;

std::size_t columns_for(std::size_t panels) {
  if (panels <= 2) return 1;
  if (panels <= 4) return 2;
  if (panels <= 12) return 3;
  if (panels <= 24) return 4;
  return 8;
}

std::size_t fullest_of(const Summary& run) {
  const auto fullest = std::ranges::max_element(run.devices, {}, &DeviceSummary::peak_memory_bytes);
  return static_cast<std::size_t>(fullest - run.devices.begin());
}

MemoryPanel panel_of(const Summary& run, std::size_t device, std::vector<MemoryStep> steps,
                     std::string name) {
  const DeviceSummary& summary = run.devices[device];
  return {std::move(name),     std::move(steps),
          run.makespan_s,      static_cast<double>(summary.peak_memory_bytes),
          summary.peak_time_s, static_cast<double>(summary.memory_capacity_bytes)};
}

// Of very many devices some at equal distances, and the fullest.
std::vector<std::size_t> chosen_devices(const Summary& run) {
  const std::size_t devices = run.devices.size();
  const std::size_t step = (devices + most_panels - 1) / most_panels;
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < devices; i += std::max<std::size_t>(1, step)) chosen.push_back(i);
  const std::size_t fullest = fullest_of(run);
  if (std::ranges::find(chosen, fullest) == chosen.end())
    *std::ranges::min_element(chosen, {}, [&](std::size_t device) {
      return std::abs(static_cast<double>(device) - static_cast<double>(fullest));
    }) = fullest;
  return chosen;
}

std::vector<MemoryPanel> panels_of(std::span<const trace::Trace> runs,
                                   std::span<const Summary> summaries) {
  std::vector<MemoryPanel> panels;
  if (runs.size() == 1) {
    auto steps = memory_steps(runs[0]);
    for (const std::size_t device : chosen_devices(summaries[0])) {
      const std::string& host = runs[0].devices[device].host;
      panels.push_back(
          panel_of(summaries[0], device, std::move(steps[device]),
                   fmt::format("device {}{}{}", device, host.empty() ? "" : "  ", host)));
    }
    return panels;
  }
  const std::vector<std::string> names = run_names(summaries);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].devices.empty()) continue;
    const std::size_t device = fullest_of(summaries[i]);
    panels.push_back(panel_of(summaries[i], device, std::move(memory_steps(runs[i])[device]),
                              fmt::format("{}: device {}", names[i], device)));
  }
  return panels;
}

std::vector<Swatch> legend_of(const std::vector<MemoryPanel>& panels, const MemoryAxes& axes) {
  std::vector<Swatch> legend;
  for (std::size_t category = 0; category < trace::memory_categories; ++category)
    if (std::ranges::any_of(panels, [&](const MemoryPanel& panel) {
          return std::ranges::any_of(panel.steps,
                                     [&](auto& step) { return step.bytes[category] > 0; });
        }))
      legend.push_back({memory_styles[category].colour, memory_styles[category].words});
  if (std::ranges::any_of(panels, [&](const MemoryPanel& panel) {
        return panel.capacity_bytes > 0 && panel.capacity_bytes <= axes.most_bytes;
      }))
    legend.push_back({ink, "capacity", Swatch::Kind::dashes});
  double above = 0;  // the least of those that no panel has a line for
  for (const MemoryPanel& panel : panels)
    if (panel.capacity_bytes > axes.most_bytes && (above == 0 || panel.capacity_bytes < above))
      above = panel.capacity_bytes;
  if (above > 0)
    legend.push_back(
        {ink, fmt::format("capacity {} (above)", format_bytes(static_cast<std::uint64_t>(above))),
         Swatch::Kind::dashes});
  legend.push_back({ink, "peak", Swatch::Kind::dot});
  return legend;
}

}  // namespace

void draw_memory(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                 PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture of no runs");
  std::vector<Summary> summaries;
  for (const trace::Trace& run : runs) summaries.push_back(summarize(run));
  const std::vector<MemoryPanel> panels = panels_of(runs, summaries);
  if (std::ranges::all_of(panels, [](auto& panel) { return panel.peak_bytes <= 0; }))
    throw trace::TraceError(fmt::format(
        "{}: there is no memory to draw: the runs have no model and no bytes of activations or "
        "state",
        file.string()));

  const std::size_t columns = columns_for(panels.size());
  const std::size_t rows = (panels.size() + columns - 1) / columns;
  const double left = page_margin + axis_room;
  const double right = page_width - page_margin - 6;
  const double pitch = (right - left + panel_gap) / static_cast<double>(columns);
  const double width = pitch - panel_gap;
  const double height = std::clamp(width * 0.45, 80.0, 260.0);
  const MemoryAxes axes = memory_axes(panels, width, height);
  const std::vector<Swatch> legend = legend_of(panels, axes);

  const double subject = page_margin + 12;
  const double heading = subject + 20;
  const std::unique_ptr<Canvas> ruler = make_canvas(PictureKind::svg, 1, 1);
  const double legend_end = draw_swatches(*ruler, legend, left, right, heading + 22, false);
  const double top = legend_end + 24;
  const double row_height = height + title_room;
  const double bottom = top + static_cast<double>(rows) * row_height;
  const std::unique_ptr<Canvas> page = make_canvas(kind, page_width, bottom + 36 + page_margin);
  Canvas& canvas = *page;

  draw_subject(canvas, left, right, subject, subject_of(summaries));
  const RunTitle title = run_titles(summaries).front();
  std::string details = title.details;
  if (panels.size() < runs[0].devices.size())
    details += fmt::format(", {} of {} devices", panels.size(), runs[0].devices.size());
  if (runs.size() == 1)
    draw_heading(canvas, left, right, heading, run_names(summaries).front(), details);
  else
    draw_heading(canvas, left, right, heading, "Memory over time",
                 "of the fullest device of each run");
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
