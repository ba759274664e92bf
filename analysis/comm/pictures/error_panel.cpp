#include "analysis/comm/pictures/error_panel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "analysis/comm/pictures/curve_marks.hpp"
#include "analysis/curve/plot.hpp"

namespace pipewright::analysis {
namespace {

constexpr int most_sizes = 12;  // with labels

// The least of these that 95 % of the errors do not exceed; the others stand at the edge. Grid
// lines are at two thirds of it.
double error_limit(std::span<const DrawnCurve> curves) {
  constexpr std::array limits{0.3, 0.6, 1.2, 2.4, 6.0};
  std::vector<double> errors;
  for (const DrawnCurve& curve : curves)
    for (const ComparedRow& row : curve.compared.rows) errors.push_back(std::abs(row.error()));
  std::ranges::sort(errors);
  const double nearly_all = errors[(errors.size() - 1) * 19 / 20];
  const auto* const enough =
      std::ranges::find_if(limits, [&](double limit) { return nearly_all <= limit; });
  return enough == limits.end() ? limits.back() : *enough;
}

void draw_size_labels(Canvas& canvas, const LogScale& x, const Area& plot) {
  for (const LogTick& tick : size_ticks(x, most_sizes)) {
    canvas.line(x(tick.value), plot.bottom, x(tick.value), plot.bottom + 4, ink, 0.7);
    canvas.text(x(tick.value), plot.bottom + 16, tick.label, {.size = 10, .align = Align::centre});
  }
}

}  // namespace

void draw_size_grid(Canvas& canvas, const LogScale& x, const Area& plot) {
  for (const LogTick& tick : size_ticks(x, most_sizes))
    canvas.line(x(tick.value), plot.top, x(tick.value), plot.bottom, grid_colour, 0.7);
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
  canvas.rectangle(plot.left, y(banded_error), plot.right, y(-banded_error));
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
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < curves.size(); ++i)
    for (const ComparedRow& row : curves[i].compared.rows) {
      if (row.measured.bytes == 0) continue;
      beyond += std::abs(row.error()) > limit ? 1 : 0;
      draw_mark(canvas, i, x(static_cast<double>(row.measured.bytes)), y(row.error()),
                mark_radius(curves[i]) * 0.85, row.held_out);
    }
  if (beyond > 0)
    canvas.text(plot.right, plot.top - 7,
                fmt::format("{} beyond {:.0f} %: at the edge", beyond, 100 * limit),
                {.size = 9.5, .align = Align::right, .colour = faint_ink});
}

}  // namespace pipewright::analysis
