#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/picture/layout.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/report/picture/titles.hpp"
#include "analysis/report/summary.hpp"
#include "analysis/report/units_text.hpp"
#include "analysis/report/why/time_split.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double bubbles_page_width = 900;  // All lengths are in points.
constexpr double max_name_width = 300;
constexpr double max_bar_pitch = 24;
constexpr double max_bars_height = 720;
constexpr double total_room = 62;  // Room for the totals, right of the bars.
constexpr TextStyle bar_name_style{.size = 10, .align = Align::right};

// Defines one segment of a device's bar: name, colour, and a function that returns its seconds.
struct BarPart {
  const char* words;
  Colour colour;
  double (*seconds)(const TimeSplit&);
  bool hatched = false;
};

constexpr std::array<BarPart, std::tuple_size_v<BarParts>> bar_parts{{
    {"compute", kind_styles[0].colour, [](const TimeSplit& s) { return s.computing_s(); }},
    {"tp, cp, ep collectives", time_colours::in_passes,
     [](const TimeSplit& s) { return s.in_passes_s; }},
    {"point to point", time_colours::transfers, [](const TimeSplit& s) { return s.p2p_s; }},
    {"weight gather", time_colours::weights, [](const TimeSplit& s) { return s.weights_s; }},
    {"gradient reduction", time_colours::gradients,
     [](const TimeSplit& s) { return s.gradients_s + s.embeddings_s; }},
    {"norm of gradients", time_colours::norm, [](const TimeSplit& s) { return s.norm_s; }},
    {"optimizer step", time_colours::optimizer, [](const TimeSplit& s) { return s.optimizer_s; }},
    {"other replicas", time_colours::steady, [](const TimeSplit& s) { return s.replicas_s; }, true},
    {"warm-up bubble", time_colours::warm_up, [](const TimeSplit& s) { return s.warm_up_s; }},
    {"steady bubble", time_colours::steady, [](const TimeSplit& s) { return s.steady_s; }},
    {"cool-down bubble", time_colours::cool_down, [](const TimeSplit& s) { return s.cool_down_s; }},
    {"imbalance", time_colours::warm_up, [](const TimeSplit& s) { return s.imbalance_s; }, true},
}};

struct Bar {
  std::string name;
  BarParts parts;
  std::string total;
};

std::vector<Bar> time_bars(std::span<const trace::Trace> runs, std::span<const Summary> summaries) {
  std::vector<Bar> bars;
  if (runs.size() == 1) {
    for (const TimeSplit& split : time_splits(runs[0])) {
      const DeviceLabel label = device_label(runs[0].devices[split.device]);
      const double busy_s = summaries[0].devices[split.device].busy_s;
      const double idle = summaries[0].makespan_s > 0 ? 1 - busy_s / summaries[0].makespan_s : 0;
      bars.push_back({label.host.empty() ? label.device : label.device + "  " + label.host,
                      mean_parts({&split, 1}), format_percent(idle)});
    }
    return bars;
  }
  const std::vector<std::string> names = run_names(summaries);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<TimeSplit> splits = time_splits(runs[i]);
    bars.push_back({names[i], mean_parts(splits), format_seconds(summaries[i].makespan_s)});
  }
  return bars;
}

// Draws a bar from its segments, and writes a segment's share into it if there is room.
void draw_bar(Canvas& canvas, const Bar& bar, double left, double top, double bottom,
              double points_per_s, double whole_s) {
  double x = left;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const double width = bar.parts[i] * points_per_s;
    if (width <= 0) continue;
    if (bar_parts[i].hatched) {
      canvas.hatch(x, top, x + width, bottom);
    } else {
      canvas.rectangle(x, top, x + width, bottom);
      canvas.fill(bar_parts[i].colour);
    }
    if (width > 2 && x > left) canvas.line(x, top, x, bottom, {1, 1, 1}, 0.6);
    const std::string share = format_percent(bar.parts[i] / whole_s);
    const TextStyle style{.size = 9,
                          .align = Align::centre,
                          .colour = needs_dark_text(bar_parts[i].colour) ? ink : Colour{1, 1, 1}};
    const double room = canvas.text_width(share, style) + 6;
    if (bottom - top >= 11 && room <= width) {
      if (bar_parts[i].hatched) {  // Text needs a plain ground.
        canvas.rectangle(x + (width - room) / 2 + 1, top, x + (width + room) / 2 - 1, bottom);
        canvas.fill(bar_parts[i].colour);
      }
      canvas.text(x + width / 2, (top + bottom) / 2 + 3.2, share, style);
    }
    x += width;
  }
}

}  // namespace

BarParts mean_parts(std::span<const TimeSplit> splits) {
  BarParts mean{};
  for (const TimeSplit& split : splits)
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] += bar_parts[i].seconds(split) / static_cast<double>(splits.size());
  return mean;
}

void draw_bubbles(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                  PictureKind kind) {
  if (runs.empty()) throw std::logic_error("a picture needs at least one run");
  std::vector<Summary> summaries;
  double span_s = 0;
  for (const trace::Trace& run : runs) {
    summaries.push_back(summarize(run));
    span_s = std::max(span_s, summaries.back().makespan_s);
  }
  if (span_s <= 0) span_s = 1;  // A run without passes shows an empty second.
  const std::vector<Bar> bars = time_bars(runs, summaries);

  const std::unique_ptr<Canvas> ruler = make_canvas(PictureKind::svg, 1, 1);
  double name_width = 0;
  for (const Bar& bar : bars)
    name_width = std::max(name_width, ruler->text_width(bar.name, bar_name_style));
  // The width gets some reserve, since SVG, PNG and PDF files measure texts slightly differently.
  name_width = std::min(name_width + 3, max_name_width);
  const double left = page_margin + name_width + 8;
  const double right = bubbles_page_width - page_margin - total_room;
  std::vector<Swatch> legend;
  for (std::size_t i = 0; i < bar_parts.size(); ++i)
    if (std::ranges::any_of(bars, [&](const Bar& bar) { return bar.parts[i] > 1e-9 * span_s; }))
      legend.push_back({bar_parts[i].colour, bar_parts[i].words,
                        bar_parts[i].hatched ? Swatch::Kind::hatched : Swatch::Kind::field});
  const double subject = page_margin + 12;
  const double heading = subject + 20;
  const double legend_left = std::min(left, 120.0);
  const double legend_right = bubbles_page_width - page_margin;

  const double row = std::min(max_bar_pitch, max_bars_height / static_cast<double>(bars.size()));
  const double gap = row >= 8 ? 4 : row >= 3 ? 0.6 : 0;
  const double top = last_baseline(legend, legend_left, legend_right, heading + 22) + 28;
  const double bottom = top + row * static_cast<double>(bars.size());
  const std::unique_ptr<Canvas> page =
      make_canvas(kind, bubbles_page_width, bottom + 44 + page_margin);
  Canvas& canvas = *page;
  draw_subject(canvas, legend_left, legend_right, subject, common_subject(summaries));
  const RunTitle title = run_titles(summaries).front();
  draw_heading(canvas, legend_left, legend_right, heading,
               runs.size() == 1 ? run_names(summaries).front() : "Where the time goes",
               runs.size() == 1 ? title.details : "mean of the devices of each run");
  draw_swatches(canvas, legend, legend_left, legend_right, heading + 22);
  const double points_per_s = (right - left) / span_s;
  canvas.text(right + 6, top - 6, runs.size() == 1 ? "idle" : "time",
              {.size = 9, .colour = faint_ink});
  std::size_t step = 1;
  while (static_cast<double>(step) * row < 11) step *= 2;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double y = top + static_cast<double>(i) * row;
    const double whole = summaries[runs.size() == 1 ? 0 : i].makespan_s;
    draw_bar(canvas, bars[i], left, y, y + row - gap, points_per_s, whole > 0 ? whole : 1);
    if (i % step != 0) continue;
    const double baseline = y + (row - gap) / 2 + 3.5;
    canvas.text(left - 7, baseline, canvas.fitted(bars[i].name, name_width, bar_name_style),
                bar_name_style);
    canvas.text(right + 6, baseline, bars[i].total, {.size = 9.5});
  }
  const TimeTicks ticks = time_ticks(span_s, 10);
  for (const Tick& tick : ticks.ticks) {
    const double x = left + tick.s * points_per_s;
    canvas.line(x, bottom + 2, x, bottom + 6, ink, 0.7);
    canvas.text(x, bottom + 18, tick.label, {.size = 10, .align = Align::centre});
  }
  canvas.line(left, bottom + 2, right, bottom + 2, ink, 0.7);
  canvas.text((left + right) / 2, bottom + 36, fmt::format("time ({})", ticks.unit),
              {.size = 10.5, .align = Align::centre});
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
