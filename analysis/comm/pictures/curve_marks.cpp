#include "analysis/comm/pictures/curve_marks.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "analysis/palette.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::array colours{colour_of(0x0072b2),
                             colour_of(0xd55e00),
                             colour_of(0x009e73),
                             colour_of(0xcc79a7),
                             colour_of(0xe69f00),
                             colour_of(0x56b4e9),
                             ink,
                             colour_of(0x882255)};
constexpr Colour white{1, 1, 1};
constexpr int shapes = 4;

// Of about equal areas.
std::vector<Point> corners(std::size_t shape, double x, double y, double r) {
  if (shape == 1) return {{x - r, y - r}, {x + r, y - r}, {x + r, y + r}, {x - r, y + r}};
  if (shape == 2)
    return {{x, y - 1.35 * r}, {x + 1.3 * r, y + 0.95 * r}, {x - 1.3 * r, y + 0.95 * r}};
  return {{x, y - 1.4 * r}, {x + 1.4 * r, y}, {x, y + 1.4 * r}, {x - 1.4 * r, y}};
}

constexpr double line_height = 15;
constexpr double mark_width = 26;  // with a gap to the name
constexpr TextStyle small{.size = 9.5};
constexpr TextStyle small_bold{.size = 9.5, .bold = true};
constexpr TextStyle small_faint{.size = 9.5, .colour = faint_ink};

// What the names of several curves begin with, up to a comma: "all-reduce, ".
std::size_t common_begin(std::span<const DrawnCurve> curves) {
  std::string_view common = curves.front().compared.name;
  if (curves.size() == 1) return 0;
  for (const DrawnCurve& curve : curves) {
    const std::string& name = curve.compared.name;
    const auto differ = std::ranges::mismatch(common, name).in1;
    common = {common.begin(), differ};
  }
  const std::size_t comma = common.rfind(", ");
  return comma == std::string_view::npos ? 0 : comma + 2;
}

// Few curves have the whole width for their names.
std::size_t legend_columns(std::span<const DrawnCurve> curves) { return curves.size() > 4 ? 2 : 1; }

std::size_t legend_lines(std::span<const DrawnCurve> curves) {
  const std::size_t columns = legend_columns(curves);
  return (curves.size() + columns - 1) / columns + (common_begin(curves) > 0 ? 1 : 0);
}

}  // namespace

Colour curve_colour(std::size_t curve) { return colours[curve % colours.size()]; }

void draw_mark(Canvas& canvas, std::size_t curve, double x, double y, double radius, bool hollow) {
  const Colour colour = curve_colour(curve);
  const std::size_t shape = curve % shapes;
  const auto draw = [&](double r, Colour paint) {
    if (shape == 0) return canvas.dot(x, y, r * 1.1, paint);
    canvas.polygon(corners(shape, x, y, r));
    canvas.fill(paint);
  };
  draw(radius, colour);
  if (hollow) draw(radius * 0.55, white);
}

double legend_height(std::span<const DrawnCurve> curves) {
  return line_height * static_cast<double>(legend_lines(curves));
}

void draw_curve_legend(Canvas& canvas, std::span<const DrawnCurve> curves, double left,
                       double right, double top) {
  const std::size_t common = common_begin(curves);
  if (common > 0) {
    const std::string words = curves.front().compared.name.substr(0, common - 2);
    top += line_height;
    canvas.text(left, top, canvas.fitted(words, right - left, small_bold), small_bold);
  }
  const std::size_t columns = legend_columns(curves);
  const double column = (right - left) / static_cast<double>(columns);
  const double room = column - mark_width - 12;
  const std::size_t rows = (curves.size() + columns - 1) / columns;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const ComparedCurve& curve = curves[i].compared;
    const double x = left + (i < rows ? 0 : column);
    const double y = top + line_height * static_cast<double>(1 + i % rows);
    canvas.line(x, y - 3.5, x + 20, y - 3.5, curve_colour(i), 1.3);
    draw_mark(canvas, i, x + 10, y - 3.5, 2.7, false);
    const ErrorSummary errors = summarize(curve.rows);
    const std::string figures = fmt::format(
        "  median error {}, p90 {}", format_percent(errors.median), format_percent(errors.p90));
    const std::string name =
        canvas.fitted(curve.name.substr(common), room - canvas.text_width(figures, small), small);
    canvas.text(x + mark_width, y, name, small);
    canvas.text(x + mark_width + canvas.text_width(name, small), y, figures, small_faint);
  }
}

}  // namespace pipewright::analysis
