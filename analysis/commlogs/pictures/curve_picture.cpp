#include "analysis/commlogs/pictures/curve_picture.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/commlogs/pictures/curve_marks.hpp"
#include "analysis/commlogs/pictures/log_scale.hpp"
#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double plot_height = 270;
constexpr double axis_line = 30;  // of the vertical axis's name
constexpr double gap = 22;        // between the curves and their errors
constexpr double error_height = 84;
constexpr double below = 46;  // of size labels and air
constexpr TextStyle small_faint{.size = 9.5, .colour = faint_ink};

struct Panel {
  Canvas& canvas;
  std::span<const DrawnCurve> curves;
  CurveAxis axis;
  LogScale x;
  LogScale y;

  Point place(const DrawnCurve& curve, std::uint64_t bytes, double seconds) const;
};

// What the vertical axis shows of a time.
double axis_value(CurveAxis axis, const DrawnCurve& curve, std::uint64_t bytes, double seconds) {
  if (axis == CurveAxis::time) return seconds;
  const Measurement& first = curve.compared.rows.front().measured;
  // One rank's bus bandwidth would be 0.
  return algorithm_bandwidth(bytes, seconds) *
         (first.ranks > 1 ? bus_factor(first.operation, first.ranks) : 1);
}

Point Panel::place(const DrawnCurve& curve, std::uint64_t bytes, double seconds) const {
  return {x(static_cast<double>(bytes)), y(axis_value(axis, curve, bytes, seconds))};
}

// Predictions that can stand on logarithmic axes.
std::vector<CurvePoint> line_of(const DrawnCurve& curve) {
  std::vector<CurvePoint> points = curve.predicted;
  if (points.empty())
    for (const ComparedRow& row : curve.compared.rows)
      points.push_back({row.measured.bytes, row.predicted});
  std::erase_if(points, [](const CurvePoint& p) { return p.bytes == 0 || !(p.seconds > 0); });
  return points;
}

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  void cover(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

Panel panel_of(Canvas& canvas, std::span<const DrawnCurve> curves, CurveAxis axis,
               const Area& plot) {
  Range bytes;
  Range values;
  const auto cover = [&](const DrawnCurve& curve, std::uint64_t size, double seconds) {
    if (size == 0 || !(seconds > 0)) return;
    bytes.cover(static_cast<double>(size));
    values.cover(axis_value(axis, curve, size, seconds));
  };
  for (const DrawnCurve& curve : curves) {
    for (const ComparedRow& row : curve.compared.rows)
      cover(curve, row.measured.bytes, row.measured.seconds);
    for (const CurvePoint& point : line_of(curve)) cover(curve, point.bytes, point.seconds);
  }
  // Air, and something to divide by where there is one size only.
  const double beside = std::max(1.1, std::pow(bytes.most / bytes.least, 0.02));
  const double ratio = values.most / values.least;
  const double above = std::max({1.25, std::pow(ratio, 0.03), std::sqrt(3 / ratio)});
  return {canvas, curves, axis,
          LogScale{bytes.least / beside, bytes.most * beside, plot.left, plot.right},
          LogScale{values.least / above, values.most * above, plot.bottom, plot.top}};
}

// Where the error of a mark is at most 20 %: measured within predicted / 1.2 .. predicted / 0.8.
void draw_band(const Panel& panel, const DrawnCurve& curve, const Area& plot) {
  std::vector<Point> edge;
  const std::vector<CurvePoint> line = line_of(curve);
  const auto add = [&](const CurvePoint& point, double error) {
    Point corner = panel.place(curve, point.bytes, point.seconds / (1 + error));
    corner.y = std::clamp(corner.y, plot.top, plot.bottom);
    edge.push_back(corner);
  };
  for (const CurvePoint& point : line) add(point, banded_error);
  for (std::size_t i = line.size(); i-- > 0;) add(line[i], -banded_error);
  if (edge.empty()) return;
  panel.canvas.polygon(edge);
  panel.canvas.fill(band_colour);
}

void draw_plot(const Panel& panel, const Area& plot) {
  for (const DrawnCurve& curve : panel.curves) draw_band(panel, curve, plot);
  draw_size_grid(panel.canvas, panel.x, plot);
  draw_value_grid(panel.canvas, panel.y,
                  panel.axis == CurveAxis::time ? second_ticks(panel.y) : bandwidth_ticks(panel.y),
                  plot);
  draw_frame(panel.canvas, plot);
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    std::vector<Point> line;
    for (const CurvePoint& point : line_of(panel.curves[i]))
      line.push_back(panel.place(panel.curves[i], point.bytes, point.seconds));
    panel.canvas.path(line, curve_colour(i), 1.3);
  }
  for (std::size_t i = 0; i < panel.curves.size(); ++i)
    for (const ComparedRow& row : panel.curves[i].compared.rows) {
      if (row.measured.bytes == 0) continue;
      const Point at = panel.place(panel.curves[i], row.measured.bytes, row.measured.seconds);
      draw_mark(panel.canvas, i, at.x, at.y, mark_radius(panel.curves[i]), row.held_out);
    }
}

// At the right.
void explain_marks(const Panel& panel, double right, double baseline) {
  const bool some_held_out = std::ranges::any_of(panel.curves, [](const DrawnCurve& curve) {
    return std::ranges::any_of(curve.compared.rows, &ComparedRow::held_out);
  });
  panel.canvas.text(right, baseline,
                    fmt::format("line: predicted; marks: measured{}; band: error up to 20 %",
                                some_held_out ? ", hollow if not fitted to" : ""),
                    {.size = 9.5, .align = Align::right, .colour = faint_ink});
}

struct PanelPlace {
  double margin, left, right;  // of the legend; of the plots; of both
  double top;
};

double panel_height(std::span<const DrawnCurve> curves) {
  return legend_height(curves) + axis_line + plot_height + gap + error_height + below;
}

void draw_panel(Canvas& canvas, std::span<const DrawnCurve> curves, CurveAxis axis,
                const PanelPlace& place) {
  const double legend = legend_height(curves);
  const double top = place.top + legend + axis_line;
  const Area plot{place.left, top, place.right, top + plot_height};
  const Area errors{place.left, plot.bottom + gap, place.right, plot.bottom + gap + error_height};
  const Panel panel = panel_of(canvas, curves, axis, plot);
  draw_curve_legend(canvas, curves, place.margin, place.right, place.top);
  const bool of_time = axis == CurveAxis::time;
  canvas.text(place.margin, top - 8, of_time ? "time" : "bus bandwidth", small_faint);
  explain_marks(panel, place.right, top - 8);
  draw_plot(panel, plot);
  canvas.text(place.margin, errors.top - 7, "error: predicted / measured - 1", small_faint);
  draw_errors(canvas, curves, panel.x, errors);
}

constexpr std::size_t most_curves = 8;  // of a panel
constexpr double page_width = 760;      // points, as all lengths here
constexpr double margin = 22;
constexpr double left = 74;  // of the plots
constexpr double heading = 40;

bool can_be_drawn(const DrawnCurve& curve) {
  return std::ranges::any_of(curve.compared.rows,
                             [](const ComparedRow& row) { return row.measured.bytes > 0; });
}

Operation operation_of(const DrawnCurve& curve) {
  return curve.compared.rows.front().measured.operation;
}

using PanelCurves = std::span<const DrawnCurve>;

std::vector<PanelCurves> panels_of(std::span<const DrawnCurve> curves) {
  std::vector<PanelCurves> panels;
  const bool by_operation = curves.size() > most_curves;
  for (std::size_t begin = 0, end = 0; begin < curves.size(); begin = end) {
    while (end < curves.size() && end - begin < most_curves &&
           (!by_operation || operation_of(curves[end]) == operation_of(curves[begin])))
      ++end;
    panels.push_back(curves.subspan(begin, end - begin));
  }
  return panels;
}

}  // namespace

std::string curve_picture(std::span<const DrawnCurve> curves, const CurveWords& words,
                          CurveAxis axis, PictureKind kind) {
  std::vector<DrawnCurve> drawn;
  std::ranges::copy_if(curves, std::back_inserter(drawn), can_be_drawn);
  if (drawn.empty()) throw std::logic_error("a picture of no curves");
  const std::vector<PanelCurves> panels = panels_of(drawn);
  double height = heading;
  for (const PanelCurves panel : panels) height += panel_height(panel);

  const std::unique_ptr<Canvas> page = make_canvas(kind, page_width, height);
  Canvas& canvas = *page;
  draw_heading(canvas, margin, page_width - margin, 26, words.title, words.details);
  double top = heading;
  for (const PanelCurves panel : panels) {
    draw_panel(canvas, panel, axis, {margin, left, page_width - margin, top});
    top += panel_height(panel);
  }
  return canvas.finish();
}

void draw_curves(std::span<const DrawnCurve> curves, const CurveWords& words, CurveAxis axis,
                 const std::filesystem::path& file, PictureKind kind) {
  trace::write_file(file, curve_picture(curves, words, axis, kind));
}

}  // namespace pipewright::analysis
