#include "analysis/commlogs/pictures/bench_picture.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/commlogs/pictures/curve_marks.hpp"
#include "analysis/report/canvas/legend.hpp"

namespace pipewright::analysis {
namespace {

constexpr double height = 300;  // points, as all lengths here
constexpr double margin = 8;
constexpr double left = 66;   // of the plot
constexpr double right = 24;  // beside it, for half of the last size
constexpr double legend = 16;
constexpr double top = 32;
constexpr double below = 26;  // of size labels
// Where the simulation is as the formula says it lies on its line, which is wider.
constexpr Colour formula_colour{0.74, 0.76, 0.78};
constexpr double formula_width = 4.5;
constexpr double room_of_a_size = 52;  // with its label

std::vector<Point> values(const std::vector<CurvePoint>& points, const BenchCurve& curve,
                          CurveAxis axis) {
  std::vector<Point> values;
  for (const CurvePoint& point : points) {
    const auto bytes = static_cast<double>(point.bytes);
    if (!(point.seconds > 0) || point.bytes == 0) continue;
    values.push_back(
        {bytes, axis == CurveAxis::time ? point.seconds : bytes / point.seconds * curve.factor});
  }
  return values;
}

// With air around them, and something to divide by where there is one only.
LogScale scale_around(double least, double most, double air, double start, double end) {
  const double factor = std::max(air, std::pow(most / least, 0.03));
  return {least / factor, most * factor, start, end};
}

}  // namespace

std::string bench_picture(const BenchCurve& curve, CurveAxis axis, double width, PictureKind kind) {
  const std::vector<Point> simulated = values(curve.simulated, curve, axis);
  const std::vector<Point> formula = values(curve.formula, curve, axis);
  const double assumed = axis == CurveAxis::bus_bandwidth ? curve.assumed.value_or(0) : 0;
  std::vector<Point> all = simulated;
  all.insert(all.end(), formula.begin(), formula.end());
  if (assumed > 0) all.push_back({simulated.front().x, assumed});
  const auto [first, last] = std::ranges::minmax_element(all, {}, &Point::x);
  const auto [least, most] = std::ranges::minmax_element(all, {}, &Point::y);

  const std::unique_ptr<Canvas> page = make_canvas(kind, width, height);
  Canvas& canvas = *page;
  const Area plot{left, top, width - right, height - below};
  const LogScale x = scale_around(first->x, last->x, 1.1, plot.left, plot.right);
  const LogScale y = scale_around(least->y, most->y, 1.25, plot.bottom, plot.top);
  const int sizes = static_cast<int>((plot.right - plot.left) / room_of_a_size);
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
  const auto draw = [&](std::vector<Point> points, Colour colour, double line) {
    for (Point& point : points) point = {x(point.x), y(point.y)};
    canvas.path(points, colour, line);
    return points;
  };
  draw(formula, formula_colour, formula_width);
  for (const Point& at : draw(simulated, line_colour, 1.5))
    canvas.dot(at.x, at.y, 2.6, line_colour);
  draw_swatches(canvas, swatches, margin, width - margin, legend);
  return canvas.finish();
}

}  // namespace pipewright::analysis
