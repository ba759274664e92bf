#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/legend.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/picture/pictures.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double frontier_page_width = 760;  // All lengths are in points.
constexpr double frontier_page_height = 460;
constexpr Area frontier_plot{66, 52, frontier_page_width - 24, frontier_page_height - 56};

// Draws a step function: a bubble ratio that some memory allows is also possible with more memory,
// so each level extends to the next point.
template <class Draw>
void draw_steps(const std::vector<FrontierPoint>& points, double FrontierPoint::*value,
                const Scale& x, const Scale& y, Draw&& draw) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double level = y(points[i].*value);
    const double until = i + 1 < points.size() ? x(points[i + 1].memory) : frontier_plot.right;
    draw(x(points[i].memory), level, until, level);
    if (i + 1 < points.size()) draw(until, level, until, y(points[i + 1].*value));
  }
}

void draw_frontier_legend(Canvas& canvas, bool has_named_points) {
  double right = frontier_plot.right;
  const double baseline = frontier_plot.top - 8;
  const auto entry = [&](const char* words, auto&& draw_mark) {
    canvas.text(right, baseline, words, {.size = 10, .align = Align::right});
    right -= canvas.text_width(words, {.size = 10}) + 6;
    draw_mark(right - 22, right, baseline - 3.5);
    right -= 22 + 16;
  };
  if (has_named_points)
    entry("named schedules", [&](double left, double to, double y) {
      canvas.dot((left + to) / 2 + 6, y, 3.2, dot_colour);
    });
  entry("lower bound",
        [&](double left, double to, double y) { canvas.dashes(left, y, to, y, faint_ink, 1); });
  entry("best found",
        [&](double left, double to, double y) { canvas.line(left, y, to, y, line_colour, 1.8); });
}

}  // namespace

void draw_frontier(std::span<const FrontierPoint> points, std::span<const NamedPoint> named,
                   const FrontierWords& words, const std::filesystem::path& file,
                   PictureKind kind) {
  if (points.empty() && named.empty()) throw std::logic_error("a frontier has no points");
  std::vector<FrontierPoint> line(points.begin(), points.end());
  std::ranges::stable_sort(line, {}, &FrontierPoint::memory);
  std::vector<NamedPoint> dots(named.begin(), named.end());
  for (const FrontierPoint& point : line)
    if (!point.label.empty()) dots.push_back({point.label, point.memory, point.bubble_ratio});
  std::ranges::stable_sort(dots, {}, &NamedPoint::memory);

  double min_memory = std::numeric_limits<double>::infinity();
  double max_memory = 0;
  double max_bubble = 0;
  const auto cover = [&](double memory, double bubble) {
    if (!std::isfinite(memory) || !std::isfinite(bubble))
      throw std::logic_error("a point of a frontier is not finite");
    min_memory = std::min(min_memory, memory);
    max_memory = std::max(max_memory, memory);
    max_bubble = std::max(max_bubble, bubble);
  };
  for (const FrontierPoint& point : line) cover(point.memory, point.bubble_ratio);
  for (const NamedPoint& point : dots) cover(point.memory, point.bubble_ratio);
  const Scale x = scale_of(min_memory, max_memory, frontier_plot.left, frontier_plot.right, 10);
  const Scale y = scale_of(0, max_bubble, frontier_plot.bottom, frontier_plot.top, 8);

  const std::unique_ptr<Canvas> page = make_canvas(kind, frontier_page_width, frontier_page_height);
  Canvas& canvas = *page;
  draw_axes(canvas,
            {frontier_plot, x, y, [](double value) { return fmt::format("{:g}", value); },
             [](double value) { return fmt::format("{:g} %", std::round(1e9 * value) / 1e7); },
             words.memory});
  canvas.text(frontier_plot.left, frontier_plot.top - 8, "bubble ratio",
              {.size = 10, .colour = faint_ink});
  draw_heading(canvas, frontier_plot.left, frontier_plot.right, 22, words.title, words.details, 1);
  draw_frontier_legend(canvas, !dots.empty());
  std::vector<Area> obstacles;
  const auto add_obstacle = [&](double x0, double y0, double x1, double y1) {
    obstacles.push_back(
        {std::min(x0, x1) - 1, std::min(y0, y1) - 1, std::max(x0, x1) + 1, std::max(y0, y1) + 1});
  };
  draw_steps(line, &FrontierPoint::lower_bound, x, y,
             [&](double x0, double y0, double x1, double y1) {
               canvas.dashes(x0, y0, x1, y1, faint_ink, 1);
               add_obstacle(x0, y0, x1, y1);
             });
  draw_steps(line, &FrontierPoint::bubble_ratio, x, y,
             [&](double x0, double y0, double x1, double y1) {
               canvas.line(x0, y0, x1, y1, line_colour, 1.8);
               add_obstacle(x0, y0, x1, y1);
             });
  for (const FrontierPoint& point : line)
    canvas.dot(x(point.memory), y(point.bubble_ratio), 2.2, line_colour);
  std::vector<NamedDot> named_dots;
  for (const NamedPoint& point : dots)
    named_dots.push_back({point.name, x(point.memory), y(point.bubble_ratio)});
  name_dots(canvas, named_dots, obstacles, frontier_plot);
  for (const NamedDot& dot : named_dots) canvas.dot(dot.x, dot.y, 3.2, dot_colour);
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
