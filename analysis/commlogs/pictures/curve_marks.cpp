#include "analysis/commlogs/pictures/curve_marks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/palette.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::array curve_colours{colour_of(0x0072b2),
                                   colour_of(0xd55e00),
                                   colour_of(0x009e73),
                                   colour_of(0xcc79a7),
                                   colour_of(0xe69f00),
                                   colour_of(0x56b4e9),
                                   ink,
                                   colour_of(0x882255)};
constexpr Colour curve_background{1, 1, 1};
constexpr int mark_shapes = 4;

// Returns the corners of a square, triangle or diamond; all marks have about the same area.
std::vector<Point> mark_corners(std::size_t shape, double x, double y, double r) {
  if (shape == 1) return {{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}};
  if (shape == 2)
    return {{x, y - 1.35 * r}, {x + 1.3 * r, y + 0.95 * r}, {x - 1.3 * r, y + 0.95 * r}};
  return {{x, y - 1.4 * r}, {x + 1.4 * r, y}, {x, y + 1.4 * r}, {x - 1.4 * r, y}};
}

constexpr double legend_line_height = 15;
constexpr double mark_width = 26;  // Width of a mark with the gap to the name.
constexpr TextStyle legend_small{.size = 9.5};
constexpr TextStyle legend_small_bold{.size = 9.5, .bold = true};
constexpr TextStyle legend_small_faint{.size = 9.5, .colour = faint_ink};

// Returns the length of the common beginning of all curve names, up to and including a comma:
// "all-reduce, ".
std::size_t common_prefix_length(std::span<const DrawnCurve> curves) {
  std::string_view common = curves.front().compared.name;
  if (curves.size() == 1) return 0;
  for (const DrawnCurve& curve : curves) {
    const std::string& name = curve.compared.name;
    const auto mismatch = std::ranges::mismatch(common, name).in1;
    common = {common.begin(), mismatch};
  }
  const std::size_t comma = common.rfind(", ");
  return comma == std::string_view::npos ? 0 : comma + 2;
}

// A legend of up to four curves has one column, so that names have the whole width.
std::size_t legend_columns(std::span<const DrawnCurve> curves) { return curves.size() > 4 ? 2 : 1; }

std::size_t legend_lines(std::span<const DrawnCurve> curves) {
  const std::size_t columns = legend_columns(curves);
  return (curves.size() + columns - 1) / columns + (common_prefix_length(curves) > 0 ? 1 : 0);
}

// Returns the smallest limit that 95 % of the errors do not exceed. Marks of larger errors are
// drawn at the edge. Grid lines are at two thirds of the limit.
double error_limit(std::span<const DrawnCurve> curves) {
  constexpr std::array limits{0.3, 0.6, 1.2, 2.4, 6.0};
  std::vector<double> errors;
  for (const DrawnCurve& curve : curves)
    for (const ComparedRow& row : curve.compared.rows) errors.push_back(std::abs(row.error()));
  std::ranges::sort(errors);
  const double nearly_all = errors[(errors.size() - 1) * 19 / 20];
  const auto* const limit_position =
      std::ranges::find_if(limits, [&](double limit) { return nearly_all <= limit; });
  return limit_position == limits.end() ? limits.back() : *limit_position;
}

}  // namespace

Colour curve_colour(std::size_t curve) { return curve_colours[curve % curve_colours.size()]; }

void draw_mark(Canvas& canvas, std::size_t curve, double x, double y, double radius, bool hollow) {
  const Colour colour = curve_colour(curve);
  const std::size_t shape = curve % mark_shapes;
  const auto fill_shape = [&](double r, Colour paint) {
    if (shape == 0) return canvas.dot(x, y, r * 1.1, paint);
    canvas.polygon(mark_corners(shape, x, y, r));
    canvas.fill(paint);
  };
  fill_shape(radius, colour);
  if (hollow) fill_shape(radius * 0.55, curve_background);
}

double legend_height(std::span<const DrawnCurve> curves) {
  return legend_line_height * static_cast<double>(legend_lines(curves));
}

void draw_curve_legend(Canvas& canvas, std::span<const DrawnCurve> curves, double left,
                       double right, double top) {
  const std::size_t common = common_prefix_length(curves);
  if (common > 0) {
    const std::string words = curves.front().compared.name.substr(0, common - 2);
    top += legend_line_height;
    canvas.text(left, top, canvas.fitted(words, right - left, legend_small_bold),
                legend_small_bold);
  }
  const std::size_t columns = legend_columns(curves);
  const double column = (right - left) / static_cast<double>(columns);
  const double room = column - mark_width - 12;
  const std::size_t rows = (curves.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const ComparedCurve& curve = curves[i].compared;
    const double x = left + (i < rows ? 0 : column);
    const double y = top + legend_line_height * static_cast<double>(1 + i % rows);
    canvas.line(x, y - 3.5, x + 20, y - 3.5, curve_colour(i), 1.3);
    draw_mark(canvas, i, x + 10, y - 3.5, 2.7, false);
    const ErrorSummary errors = summarize(curve.rows);
    const std::string figures = fmt::format(
        "  median error {}, p90 {}", format_percent(errors.median), format_percent(errors.p90));
    const std::string name = canvas.fitted(
        curve.name.substr(common), room - canvas.text_width(figures, legend_small), legend_small);
    canvas.text(x + mark_width, y, name, legend_small);
    canvas.text(x + mark_width + canvas.text_width(name, legend_small), y, figures,
                legend_small_faint);
  }
}

void draw_size_grid(Canvas& canvas, const LogScale& x, const Area& plot, int max_ticks) {
  for (const LogTick& tick : size_ticks(x, max_ticks))
    canvas.line(x(tick.value), plot.top, x(tick.value), plot.bottom, grid_colour, 0.7);
}

void draw_size_labels(Canvas& canvas, const LogScale& x, const Area& plot, int max_ticks) {
  for (const LogTick& tick : size_ticks(x, max_ticks)) {
    canvas.line(x(tick.value), plot.bottom, x(tick.value), plot.bottom + 4, ink, 0.7);
    canvas.text(x(tick.value), plot.bottom + 16, tick.label, {.size = 10, .align = Align::centre});
  }
}

void draw_value_grid(Canvas& canvas, const LogScale& y, std::span<const LogTick> ticks,
                     const Area& plot) {
  for (const LogTick& tick : ticks) {
    const double position = y(tick.value);
    canvas.line(plot.left, position, plot.right, position, grid_colour,
                tick.label.empty() ? 0.35 : 0.7);
    canvas.text(plot.left - 7, position + 3.5, tick.label, {.size = 10, .align = Align::right});
  }
}

void draw_frame(Canvas& canvas, const Area& plot) {
  canvas.line(plot.left, plot.bottom, plot.right, plot.bottom, ink, 0.7);
  canvas.line(plot.left, plot.top, plot.left, plot.bottom, ink, 0.7);
}

double mark_radius(const DrawnCurve& curve) { return curve.compared.rows.size() > 80 ? 1.6 : 2.7; }

void draw_errors(Canvas& canvas, std::span<const DrawnCurve> curves, const LogScale& x,
                 const Area& plot) {
  const double limit = error_limit(curves);
  const double middle = (plot.top + plot.bottom) / 2;
  const auto y = [&](double error) {
    return middle - std::clamp(error / limit, -1.0, 1.0) * (plot.bottom - plot.top) / 2;
  };
  canvas.rectangle(plot.left, y(error_band), plot.right, y(-error_band));
  canvas.fill(band_colour);
  draw_size_grid(canvas, x, plot);
  for (const double error : {-limit * 2 / 3, 0.0, limit * 2 / 3}) {
    const bool is_zero = error == 0;
    canvas.line(plot.left, y(error), plot.right, y(error), is_zero ? faint_ink : grid_colour, 0.7);
    canvas.text(plot.left - 7, y(error) + 3.5,
                is_zero ? "0 %" : fmt::format("{:+.0f} %", 100 * error),
                {.size = 10, .align = Align::right});
  }
  draw_frame(canvas, plot);
  draw_size_labels(canvas, x, plot);
  std::size_t clipped = 0;
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (const ComparedRow& row : curves[i].compared.rows) {
      if (row.measured.bytes == 0) continue;
      clipped += std::abs(row.error()) > limit ? 1 : 0;
      draw_mark(canvas, i, x(static_cast<double>(row.measured.bytes)), y(row.error()),
                mark_radius(curves[i]) * 0.85, row.held_out);
    }
  if (clipped > 0)
    canvas.text(plot.right, plot.top - 7,
                fmt::format("{} beyond {:.0f} %, drawn at the edge", clipped, 100 * limit),
                {.size = 9.5, .align = Align::right, .colour = faint_ink});
}

}  // namespace pipewright::analysis
