#include "analysis/comm/curve_legend.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "analysis/comm/curve_marks.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

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
