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

constexpr double curve_plot_height = 270;
constexpr double axis_name_room = 30;  // Room for the name of the vertical axis.
constexpr double error_gap = 22;       // Gap between the curves and their errors.
constexpr double error_plot_height = 84;
constexpr double size_label_room = 46;  // Room for size labels and padding.
constexpr TextStyle curve_small_faint{.size = 9.5, .colour = faint_ink};

struct CurvePanel {
  Canvas& canvas;
  std::span<const DrawnCurve> curves;
  CurveAxis axis;
  LogScale x;
  LogScale y;

  Point place(const DrawnCurve& curve, std::uint64_t bytes, double seconds) const;
};

// Returns what the vertical axis shows for a time: the time itself, or the bandwidth at it.
double axis_value(CurveAxis axis, const DrawnCurve& curve, std::uint64_t bytes, double seconds) {
  if (axis == CurveAxis::time) return seconds;
  const Measurement& first = curve.compared.rows.front().measured;
  // A single rank has a bus factor of 0, so its algorithm bandwidth is shown instead.
  return algorithm_bandwidth(bytes, seconds) *
         (first.ranks > 1 ? bus_factor(first.operation, first.ranks) : 1);
}

Point CurvePanel::place(const DrawnCurve& curve, std::uint64_t bytes, double seconds) const {
  return {x(static_cast<double>(bytes)), y(axis_value(axis, curve, bytes, seconds))};
}

// Returns the predicted points whose size and time are above 0, as logarithmic axes require.
std::vector<CurvePoint> predicted_line(const DrawnCurve& curve) {
  std::vector<CurvePoint> points = curve.predicted;
  if (points.empty())
    for (const ComparedRow& row : curve.compared.rows)
      points.push_back({row.measured.bytes, row.predicted});
  std::erase_if(points, [](const CurvePoint& p) { return p.bytes == 0 || !(p.seconds > 0); });
  return points;
}

struct ValueRange {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  void extend(double value) {
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
  }
};

CurvePanel make_curve_panel(Canvas& canvas, std::span<const DrawnCurve> curves, CurveAxis axis,
                            const Area& plot) {
  ValueRange bytes;
  ValueRange values;
  const auto add_point = [&](const DrawnCurve& curve, std::uint64_t size, double seconds) {
    if (size == 0 || !(seconds > 0)) return;
    bytes.extend(static_cast<double>(size));
    values.extend(axis_value(axis, curve, size, seconds));
  };
  for (const DrawnCurve& curve : curves) {
    for (const ComparedRow& row : curve.compared.rows)
      add_point(curve, row.measured.bytes, row.measured.seconds);
    for (const CurvePoint& point : predicted_line(curve))
      add_point(curve, point.bytes, point.seconds);
  }
  // Padding keeps points off the frame, and the range from being empty if there is only one size.
  const double size_padding = std::max(1.1, std::pow(bytes.largest / bytes.smallest, 0.02));
  const double ratio = values.largest / values.smallest;
  const double value_padding = std::max({1.25, std::pow(ratio, 0.03), std::sqrt(3 / ratio)});
  return {
      canvas, curves, axis,
      LogScale{bytes.smallest / size_padding, bytes.largest * size_padding, plot.left, plot.right},
      LogScale{values.smallest / value_padding, values.largest * value_padding, plot.bottom,
               plot.top}};
}

// Draws the band in which the error of a mark is at most 20 %: measured times between predicted /
// 1.2 and predicted / 0.8.
void draw_error_band(const CurvePanel& panel, const DrawnCurve& curve, const Area& plot) {
  std::vector<Point> edge;
  const std::vector<CurvePoint> line = predicted_line(curve);
  const auto add = [&](const CurvePoint& point, double error) {
    Point corner = panel.place(curve, point.bytes, point.seconds / (1 + error));
    corner.y = std::clamp(corner.y, plot.top, plot.bottom);
    edge.push_back(corner);
  };
  for (const CurvePoint& point : line) add(point, error_band);
  for (std::size_t i = line.size(); i-- > 0;) add(line[i], -error_band);
  if (edge.empty()) return;
  panel.canvas.polygon(edge);
  panel.canvas.fill(band_colour);
}

void draw_curve_plot(const CurvePanel& panel, const Area& plot) {
  for (const DrawnCurve& curve : panel.curves) draw_error_band(panel, curve, plot);
  draw_size_grid(panel.canvas, panel.x, plot);
  draw_value_grid(panel.canvas, panel.y,
                  panel.axis == CurveAxis::time ? second_ticks(panel.y) : bandwidth_ticks(panel.y),
                  plot);
  draw_frame(panel.canvas, plot);
  for (std::size_t i = 0; i < panel.curves.size(); ++i) {
    std::vector<Point> line;
    for (const CurvePoint& point : predicted_line(panel.curves[i]))
      line.push_back(panel.place(panel.curves[i], point.bytes, point.seconds));
    panel.canvas.path(line, curve_colour(i), 1.3);
  }
  for (std::size_t i = 0; i < panel.curves.size(); ++i)
    for (const ComparedRow& row : panel.curves[i].compared.rows) {
      if (row.measured.bytes == 0) continue;
      const Point point = panel.place(panel.curves[i], row.measured.bytes, row.measured.seconds);
      draw_mark(panel.canvas, i, point.x, point.y, mark_radius(panel.curves[i]), row.held_out);
    }
}

// Writes a line above the panel's right end that explains lines, marks and the band.
void explain_marks(const CurvePanel& panel, double right, double baseline) {
  const bool has_held_out = std::ranges::any_of(panel.curves, [](const DrawnCurve& curve) {
    return std::ranges::any_of(curve.compared.rows, &ComparedRow::held_out);
  });
  panel.canvas.text(right, baseline,
                    fmt::format("line: predicted; marks: measured{}; band: error up to 20 %",
                                has_held_out ? ", hollow if held out" : ""),
                    {.size = 9.5, .align = Align::right, .colour = faint_ink});
}

struct CurvePanelPlace {
  // Horizontal positions: left edge of the legend, left edge of the plots, right edge of both.
  double margin, left, right;
  double top;
};

double curve_panel_height(std::span<const DrawnCurve> curves) {
  return legend_height(curves) + axis_name_room + curve_plot_height + error_gap +
         error_plot_height + size_label_room;
}

void draw_curve_panel(Canvas& canvas, std::span<const DrawnCurve> curves, CurveAxis axis,
                      const CurvePanelPlace& place) {
  const double legend_room = legend_height(curves);
  const double top = place.top + legend_room + axis_name_room;
  const Area plot{place.left, top, place.right, top + curve_plot_height};
  const Area errors{place.left, plot.bottom + error_gap, place.right,
                    plot.bottom + error_gap + error_plot_height};
  const CurvePanel panel = make_curve_panel(canvas, curves, axis, plot);
  draw_curve_legend(canvas, curves, place.margin, place.right, place.top);
  const bool is_time = axis == CurveAxis::time;
  canvas.text(place.margin, top - 8, is_time ? "time" : "bus bandwidth", curve_small_faint);
  explain_marks(panel, place.right, top - 8);
  draw_curve_plot(panel, plot);
  canvas.text(place.margin, errors.top - 7, "error: predicted / measured - 1", curve_small_faint);
  draw_errors(canvas, curves, panel.x, errors);
}

constexpr std::size_t max_panel_curves = 8;  // Most curves of one panel.
constexpr double curve_page_width = 760;     // All lengths are in points.
constexpr double curve_margin = 22;
constexpr double plot_left = 74;  // Left edge of the plots.
constexpr double heading_room = 40;

bool can_be_drawn(const DrawnCurve& curve) {
  return std::ranges::any_of(curve.compared.rows,
                             [](const ComparedRow& row) { return row.measured.bytes > 0; });
}

Operation curve_operation(const DrawnCurve& curve) {
  return curve.compared.rows.front().measured.operation;
}

using PanelCurves = std::span<const DrawnCurve>;

std::vector<PanelCurves> split_into_panels(std::span<const DrawnCurve> curves) {
  std::vector<PanelCurves> panels;
  const bool by_operation = curves.size() > max_panel_curves;
  for (std::size_t begin = 0, end = 0; begin < curves.size(); begin = end) {
    while (end < curves.size() && end - begin < max_panel_curves &&
           (!by_operation || curve_operation(curves[end]) == curve_operation(curves[begin])))
      ++end;
    panels.push_back(curves.subspan(begin, end - begin));
  }
  return panels;
}

}  // namespace

std::string curve_picture(std::span<const DrawnCurve> curves, const CurveWords& words,
                          CurveAxis axis, PictureKind kind) {
  std::vector<DrawnCurve> drawn_curves;
  std::ranges::copy_if(curves, std::back_inserter(drawn_curves), can_be_drawn);
  if (drawn_curves.empty()) throw std::logic_error("a picture has no curves");
  const std::vector<PanelCurves> panels = split_into_panels(drawn_curves);
  double height = heading_room;
  for (const PanelCurves panel : panels) height += curve_panel_height(panel);

  const std::unique_ptr<Canvas> page = make_canvas(kind, curve_page_width, height);
  Canvas& canvas = *page;
  draw_heading(canvas, curve_margin, curve_page_width - curve_margin, 26, words.title,
               words.details);
  double top = heading_room;
  for (const PanelCurves panel : panels) {
    draw_curve_panel(canvas, panel, axis,
                     {curve_margin, plot_left, curve_page_width - curve_margin, top});
    top += curve_panel_height(panel);
  }
  return canvas.finish();
}

void draw_curves(std::span<const DrawnCurve> curves, const CurveWords& words, CurveAxis axis,
                 const std::filesystem::path& file, PictureKind kind) {
  trace::write_file(file, curve_picture(curves, words, axis, kind));
}

}  // namespace pipewright::analysis
