#include "analysis/commlogs/pictures/bench_picture.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/commlogs/pictures/curve_marks.hpp"
#include "analysis/report/canvas/legend.hpp"

namespace pipewright::analysis {
namespace {

constexpr double bench_picture_height = 300;  // All lengths are in points.
constexpr double bench_margin = 8;
constexpr double bench_plot_left = 66;  // Left edge of the plot.
// Right of the plot, room for half of the last size label.
constexpr double bench_plot_right_margin = 24;
constexpr double bench_legend_baseline = 16;
constexpr double bench_plot_top = 32;
constexpr double bench_label_room = 26;  // Room for the size labels, below the plot.
// The line of the formula is wider than that of the simulation, which covers it where they agree.
constexpr Colour formula_colour{0.74, 0.76, 0.78};
constexpr double formula_line_width = 4.5;
constexpr double size_label_width = 52;  // Horizontal room of a size with its label.

std::vector<Point> curve_points(const std::vector<CurvePoint>& points, const BenchCurve& curve,
                                CurveAxis axis) {
  std::vector<Point> points_on_axis;
  for (const CurvePoint& point : points) {
    const auto bytes = static_cast<double>(point.bytes);
    if (!(point.seconds > 0) || point.bytes == 0) continue;
    points_on_axis.push_back(
        {bytes, axis == CurveAxis::time ? point.seconds : bytes / point.seconds * curve.factor});
  }
  return points_on_axis;
}

// Makes a logarithmic scale with padding on both sides of the values. The padding keeps the range
// from being empty if there is a single value.
LogScale padded_log_scale(double min_value, double max_value, double padding, double start,
                          double end) {
  const double factor = std::max(padding, std::pow(max_value / min_value, 0.03));
  return {min_value / factor, max_value * factor, start, end};
}

}  // namespace

std::string bench_picture(const BenchCurve& curve, CurveAxis axis, double width, PictureKind kind) {
  const std::vector<Point> simulated = curve_points(curve.simulated, curve, axis);
  const std::vector<Point> formula = curve_points(curve.formula, curve, axis);
  const double assumed = axis == CurveAxis::bus_bandwidth ? curve.assumed.value_or(0) : 0;
  std::vector<Point> shown_points = simulated;
  shown_points.insert(shown_points.end(), formula.begin(), formula.end());
  if (assumed > 0) shown_points.push_back({simulated.front().x, assumed});
  const auto [first, last] = std::ranges::minmax_element(shown_points, {}, &Point::x);
  const auto [min_value, max_value] = std::ranges::minmax_element(shown_points, {}, &Point::y);

  const std::unique_ptr<Canvas> page = make_canvas(kind, width, bench_picture_height);
  Canvas& canvas = *page;
  const Area plot{bench_plot_left, bench_plot_top, width - bench_plot_right_margin,
                  bench_picture_height - bench_label_room};
  const LogScale x = padded_log_scale(first->x, last->x, 1.1, plot.left, plot.right);
  const LogScale y = padded_log_scale(min_value->y, max_value->y, 1.25, plot.bottom, plot.top);
  const int sizes = static_cast<int>((plot.right - plot.left) / size_label_width);
  draw_size_grid(canvas, x, plot, sizes);
  draw_value_grid(canvas, y, axis == CurveAxis::time ? second_ticks(y) : bandwidth_ticks(y), plot);
  draw_frame(canvas, plot);
  draw_size_labels(canvas, x, plot, sizes);

  std::vector<Swatch> swatches{{line_colour, "simulated", Swatch::Kind::line},
                               {formula_colour, "formula", Swatch::Kind::field}};
  if (assumed > 0) {
    canvas.dashes(plot.left, y(assumed), plot.right, y(assumed), dot_colour, 1);
    swatches.push_back({dot_colour, "assumed", Swatch::Kind::dashes});
  }
  const auto draw_curve = [&](std::vector<Point> points, Colour colour, double line_width) {
    for (Point& point : points) point = {x(point.x), y(point.y)};
    canvas.path(points, colour, line_width);
    return points;
  };
  draw_curve(formula, formula_colour, formula_line_width);
  for (const Point& point : draw_curve(simulated, line_colour, 1.5))
    canvas.dot(point.x, point.y, 2.6, line_colour);
  draw_swatches(canvas, swatches, bench_margin, width - bench_margin, bench_legend_baseline);
  return canvas.finish();
}

}  // namespace pipewright::analysis
