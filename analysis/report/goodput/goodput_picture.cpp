#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/goodput/goodput_report.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double margin = 14;  // In points, as all lengths in this file.
constexpr double names_width = 58;
constexpr double shares_width = 46;
constexpr double cell = 0.75;
constexpr std::size_t max_rows = 62;

// Factor by which interruptions count more than training when choosing the colour of a cell.
// Interruptions are short, so a cell shows them if they take a third of its time.
constexpr double interruption_weight = 2;

Colour colour_of(GoodputPart part) {
  constexpr std::array<unsigned, goodput_parts> colours{
      0x9fd3f0, 0xd55e00, 0xf0e442, 0x009e73, 0x5e4fa2, 0x303540, 0xcc79a7, 0x882255, 0x999999};
  return analysis::colour_of(colours.at(static_cast<std::size_t>(part)));
}

struct Row {
  std::vector<std::array<double, goodput_parts>> cells;  // Seconds of each part.
  double training = 0;
  double seconds = 0;
};

struct Days {
  double row_s = seconds_per_day;
  std::vector<Row> rows;
};

Days days_of(const std::vector<GoodputSpan>& spans, std::size_t cells) {
  const double whole = spans.empty() ? 0 : spans.back().end;
  Days days;
  while (whole > days.row_s * max_rows) days.row_s += seconds_per_day;
  if (whole < seconds_per_day) days.row_s = std::max(whole, 1.0);
  days.rows.resize(static_cast<std::size_t>(std::max(1.0, std::ceil(whole / days.row_s - 1e-9))));
  for (Row& row : days.rows) row.cells.resize(cells);
  const double cell_s = days.row_s / static_cast<double>(cells);
  for (const GoodputSpan& span : spans)
    for (double at = span.start; at < span.end - 1e-6;) {
      const auto number =
          std::min(static_cast<std::size_t>((at + 1e-6) / cell_s), days.rows.size() * cells - 1);
      const bool last = number + 1 == days.rows.size() * cells;
      const double until =
          last ? span.end : std::min(span.end, cell_s * static_cast<double>(number + 1));
      Row& row = days.rows[number / cells];
      row.cells[number % cells][static_cast<std::size_t>(span.part)] += until - at;
      row.seconds += until - at;
      row.training += span.trained * (until - at) / (span.end - span.start);
      at = until;
    }
  return days;
}

// Returns the activity (index of a GoodputPart) that a cell shows, or goodput_parts for a cell
// after the end of the run.
std::size_t shown_part(const std::array<double, goodput_parts>& seconds) {
  std::size_t part = goodput_parts;
  double weight = 0;
  for (std::size_t i = 0; i < goodput_parts; ++i) {
    const double part_weight = seconds[i] * (i == 0 ? 1 : interruption_weight);
    if (part_weight > weight) {
      weight = part_weight;
      part = i;
    }
  }
  return part;
}

void draw_row(Canvas& canvas, const Row& row, double left, double top, double bottom) {
  for (std::size_t begin = 0; begin < row.cells.size();) {
    const std::size_t part = shown_part(row.cells[begin]);
    std::size_t end = begin + 1;
    while (end < row.cells.size() && shown_part(row.cells[end]) == part) ++end;
    if (part < goodput_parts) {
      canvas.rectangle(left + cell * static_cast<double>(begin), top,
                       left + cell * static_cast<double>(end), bottom);
      canvas.fill(colour_of(static_cast<GoodputPart>(part)));
    }
    begin = end;
  }
}

// Returns the entries of the parts that cells show.
std::vector<Swatch> legend_of(const Days& days) {
  std::array<bool, goodput_parts + 1> is_present{};
  for (const Row& row : days.rows)
    for (const auto& cell_seconds : row.cells) is_present.at(shown_part(cell_seconds)) = true;
  std::vector<Swatch> swatches;
  for (std::size_t i = 0; i < goodput_parts; ++i)
    if (is_present[i])
      swatches.push_back({colour_of(static_cast<GoodputPart>(i)),
                          std::string(goodput_part_names.at(i)), Swatch::Kind::field});
  return swatches;
}

// Formats a time on the axis: hours of a day, or days of a longer row.
std::string time_text(double seconds, double row_s) {
  return row_s > seconds_per_day ? fmt::format("{:.4g} d", seconds / seconds_per_day)
                                 : fmt::format("{:.3g} h", seconds / 3600);
}

}  // namespace

std::string days_picture(const GoodputReport& report, double width, PictureKind kind) {
  const double left = margin + names_width;
  const double right = width - margin - shares_width;
  const auto cells = static_cast<std::size_t>((right - left) / cell);
  const Days days = days_of(report.spans, cells);
  const double row_height = days.rows.size() > 20 ? 13 : 18;
  const std::vector<Swatch> legend = legend_of(days);
  constexpr double legend_top = 60;
  const double top = last_baseline(legend, margin, width - margin, legend_top) + 24;
  const double bottom = top + row_height * static_cast<double>(days.rows.size());
  const std::unique_ptr<Canvas> page = make_canvas(kind, width, bottom + 40);
  Canvas& canvas = *page;
  const GoodputOutcome& shown = report.outcomes.at(report.shown);
  draw_heading(canvas, margin, width - margin, 22, report.title,
               fmt::format("seed {}, {}: the median of {}", shown.seed,
                           counted(shown.interruptions, "interruption"),
                           counted(report.outcomes.size(), "seed")));
  canvas.text(margin, 40, canvas.fitted(report.subject, width - 2 * margin, {.size = 9}),
              {.size = 9, .colour = faint_ink});
  draw_swatches(canvas, legend, margin, width - margin, legend_top);
  canvas.text(width - margin, top - 5, "effective",
              {.size = 8, .align = Align::right, .colour = faint_ink});
  for (std::size_t i = 0; i < days.rows.size(); ++i) {
    const Row& row = days.rows[i];
    const double y = top + row_height * static_cast<double>(i);
    const double base = y + row_height * 0.72;
    const double number = days.row_s < seconds_per_day
                              ? 1
                              : 1 + static_cast<double>(i) * days.row_s / seconds_per_day;
    canvas.text(left - 6, base, fmt::format("day {:g}", number),
                {.size = 8.5, .align = Align::right, .colour = faint_ink});
    draw_row(canvas, row, left, y + 1, y + row_height - 1);
    canvas.text(width - margin, base, fmt::format("{:.1f} %", 100 * row.training / row.seconds),
                {.size = 8.5, .align = Align::right});
  }
  const int steps = width > 500 ? 8 : 4;
  for (int step = 0; step <= steps; ++step) {
    const double x = left + (right - left) * step / steps;
    canvas.line(x, bottom, x, bottom + 4, faint_ink, 0.6);
    canvas.text(x, bottom + 15, time_text(days.row_s * step / steps, days.row_s),
                {.size = 8.5, .align = Align::centre, .colour = faint_ink});
  }
  return canvas.finish();
}

std::string interval_picture(const GoodputReport& report, double width, PictureKind kind) {
  constexpr double height = 300;
  const Area plot{66, 52, width - 22, height - 46};
  std::vector<double> at;
  std::vector<double> ratios;
  for (const GoodputVariant& variant : report.intervals) {
    at.push_back(std::log2(variant.interval_s));
    ratios.push_back(100 * band_of(variant.ratios).mean);
  }
  const auto [first, last] = std::ranges::minmax(at);
  const auto [lowest, highest] = std::ranges::minmax(ratios);
  const Scale x = scale_of(first, last, plot.left, plot.right, width > 500 ? 8 : 4);
  const Scale y = scale_of(lowest, highest, plot.bottom, plot.top, 6);
  const std::unique_ptr<Canvas> page = make_canvas(kind, width, height);
  Canvas& canvas = *page;
  draw_heading(canvas, 22, plot.right, 22, goodput_intervals_heading(report), "mean over seeds");
  draw_axes(canvas,
            {plot, x, y, [](double value) { return format_long_time(std::exp2(value)); },
             [](double value) { return fmt::format("{:.4g}", value); }, "checkpoint interval"});
  canvas.text(22, plot.top - 10, "effective training time (%)", {.size = 9, .colour = faint_ink});
  const auto mark = [&](double interval, const char* name, double above) {
    const double value = std::log2(interval);
    if (value < x.from || value > x.to) return;
    canvas.dashes(x(value), plot.top, x(value), plot.bottom, faint_ink, 0.8);
    canvas.text(x(value) + 3, plot.bottom - above, name, {.size = 8.5, .colour = faint_ink});
  };
  mark(report.young_s, "Young", 18);
  mark(report.daly_s, "Daly", 6);
  std::vector<Point> points;
  for (std::size_t i = 0; i < at.size(); ++i) points.push_back({x(at[i]), y(ratios[i])});
  canvas.path(points, line_colour, 1.4);
  for (std::size_t i = 0; i < points.size(); ++i)
    canvas.dot(points[i].x, points[i].y, i == best_interval(report) ? 4.2 : 2.6,
               i == best_interval(report) ? dot_colour : line_colour);
  return canvas.finish();
}

}  // namespace pipewright::analysis
