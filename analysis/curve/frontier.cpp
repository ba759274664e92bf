#include "analysis/curve/frontier.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "analysis/curve/label_places.hpp"
#include "analysis/timeline/axis.hpp"
#include "analysis/timeline/canvas.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double page_width = 760;  // points, as all lengths here
constexpr double page_height = 460;
constexpr Area plot{66, 52, page_width - 24, page_height - 56};
constexpr Colour found_colour{0.000, 0.447, 0.698};  // Okabe and Ito's blue and vermilion
constexpr Colour named_colour{0.835, 0.369, 0.000};
constexpr Colour grid_colour{0.90, 0.91, 0.92};
constexpr TextStyle label_style{.size = 9.5};

struct Scale {
  double from, to;    // of the values
  double start, end;  // on the page
  double step;
  double operator()(double value) const {
    return start + (value - from) / (to - from) * (end - start);
  }
};

// Whole steps around the values, and something to divide by where they are all equal.
Scale scale_of(double from, double to, double start, double end, int most) {
  const double span = std::max({to - from, std::abs(to) * 1e-6, 1e-9});
  const double step = round_step(span / most);
  const double low = std::max(0.0, (std::floor(from / step + 1e-9) - 0.25) * step);
  return {low, (std::ceil((from + span) / step - 1e-9) + 0.25) * step, start, end, step};
}

void draw_axes(Canvas& canvas, const Scale& x, const Scale& y, const FrontierWords& words) {
  const auto ticks = [](const Scale& scale, auto&& draw) {
    for (double i = std::ceil(scale.from / scale.step - 1e-9); i * scale.step <= scale.to; ++i)
      draw(i * scale.step + 0.0);  // -0 becomes 0
  };
  ticks(y, [&](double value) {
    canvas.line(plot.left, y(value), plot.right, y(value), grid_colour, 0.7);
    canvas.text(plot.left - 7, y(value) + 3.5, fmt::format("{:g} %", std::round(1e9 * value) / 1e7),
                {.size = 10, .align = Align::right});
  });
  ticks(x, [&](double value) {
    canvas.line(x(value), plot.bottom, x(value), plot.bottom + 4, ink, 0.7);
    canvas.text(x(value), plot.bottom + 16, fmt::format("{:g}", value),
                {.size = 10, .align = Align::centre});
  });
  canvas.line(plot.left, plot.bottom, plot.right, plot.bottom, ink, 0.7);
  canvas.text((plot.left + plot.right) / 2, plot.bottom + 36, words.memory,
              {.size = 10.5, .align = Align::centre});
  canvas.text(plot.left, plot.top - 8, "bubble ratio", {.size = 10, .colour = faint_ink});
  constexpr TextStyle bold{.size = 12, .bold = true};
  const std::string title = canvas.fitted(words.title, plot.right - plot.left, bold);
  canvas.text(plot.left, 22, title, bold);
  const double used = canvas.text_width(title, bold) + 10;
  constexpr TextStyle plain{.size = 10.5, .colour = faint_ink};
  canvas.text(plot.left + used, 22,
              canvas.fitted(words.details, std::max(0.0, plot.right - plot.left - used), plain),
              plain);
}

void draw_dashed(Canvas& canvas, double x0, double y0, double x1, double y1) {
  constexpr double dash = 5;
  const double length = std::hypot(x1 - x0, y1 - y0);
  for (double at = 0; at < length; at += 2 * dash) {
    const double a = at / length;
    const double b = std::min(1.0, (at + dash) / length);
    canvas.line(x0 + a * (x1 - x0), y0 + a * (y1 - y0), x0 + b * (x1 - x0), y0 + b * (y1 - y0),
                faint_ink, 1);
  }
}

// What is had at one memory is had at more, so the lines are level up to the next point.
template <class Draw>
void stepped(const std::vector<FrontierPoint>& points, double FrontierPoint::*value, const Scale& x,
             const Scale& y, Draw&& draw) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double level = y(points[i].*value);
    const double until = i + 1 < points.size() ? x(points[i + 1].memory) : plot.right;
    draw(x(points[i].memory), level, until, level);
    if (i + 1 < points.size()) draw(until, level, until, y(points[i + 1].*value));
  }
}

void draw_legend(Canvas& canvas, bool with_named) {
  double right = plot.right;
  const double baseline = plot.top - 8;
  const auto entry = [&](const char* words, auto&& draw_mark) {
    canvas.text(right, baseline, words, {.size = 10, .align = Align::right});
    right -= canvas.text_width(words, {.size = 10}) + 6;
    draw_mark(right - 22, right, baseline - 3.5);
    right -= 22 + 16;
  };
  if (with_named)
    entry("named schedules", [&](double left, double to, double y) {
      canvas.dot((left + to) / 2 + 6, y, 3.2, named_colour);
    });
  entry("lower bound",
        [&](double left, double to, double y) { draw_dashed(canvas, left, y, to, y); });
  entry("best found",
        [&](double left, double to, double y) { canvas.line(left, y, to, y, found_colour, 1.8); });
}

void name_dots(Canvas& canvas, const std::vector<NamedPoint>& named,
               const std::vector<Area>& obstacles, const Scale& x, const Scale& y) {
  std::vector<Named> dots;
  for (const NamedPoint& point : named)
    dots.push_back({x(point.memory), y(point.bubble_ratio),
                    canvas.text_width(point.name, label_style), label_style.size});
  const auto places = place_labels(dots, obstacles, plot);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    if (!places[i]) continue;
    const Area& place = *places[i];
    // A thread to the dot where the name had to go away from it.
    const double near_x = std::clamp(dots[i].x, place.left, place.right);
    const double near_y = std::clamp(dots[i].y, place.top, place.bottom);
    if (std::hypot(near_x - dots[i].x, near_y - dots[i].y) > 12)
      canvas.line(dots[i].x, dots[i].y, near_x, near_y, faint_ink, 0.4);
    canvas.text(place.left, place.bottom - 1.5, named[i].name, label_style);
  }
  for (const Named& dot : dots) canvas.dot(dot.x, dot.y, 3.2, named_colour);
}

}  // namespace

void draw_frontier(std::span<const FrontierPoint> points, std::span<const NamedPoint> named,
                   const FrontierWords& words, const std::filesystem::path& file,
                   PictureKind kind) {
  if (points.empty() && named.empty()) throw std::logic_error("a frontier of no points");
  std::vector<FrontierPoint> line(points.begin(), points.end());
  std::ranges::stable_sort(line, {}, &FrontierPoint::memory);
  std::vector<NamedPoint> dots(named.begin(), named.end());
  for (const FrontierPoint& point : line)
    if (!point.label.empty()) dots.push_back({point.label, point.memory, point.bubble_ratio});
  std::ranges::stable_sort(dots, {}, &NamedPoint::memory);

  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  double highest = 0;
  const auto cover = [&](double memory, double bubble) {
    if (!std::isfinite(memory) || !std::isfinite(bubble))
      throw std::logic_error("a frontier's point is not finite");
    least = std::min(least, memory);
    most = std::max(most, memory);
    highest = std::max(highest, bubble);
  };
  for (const FrontierPoint& point : line) cover(point.memory, point.bubble_ratio);
  for (const NamedPoint& point : dots) cover(point.memory, point.bubble_ratio);
  const Scale x = scale_of(least, most, plot.left, plot.right, 10);
  const Scale y = scale_of(0, highest, plot.bottom, plot.top, 8);

  Canvas canvas(kind, page_width, page_height);
  draw_axes(canvas, x, y, words);
  draw_legend(canvas, !dots.empty());
  std::vector<Area> obstacles;
  const auto keep_clear = [&](double x0, double y0, double x1, double y1) {
    obstacles.push_back(
        {std::min(x0, x1) - 1, std::min(y0, y1) - 1, std::max(x0, x1) + 1, std::max(y0, y1) + 1});
  };
  stepped(line, &FrontierPoint::lower_bound, x, y, [&](double x0, double y0, double x1, double y1) {
    draw_dashed(canvas, x0, y0, x1, y1);
    keep_clear(x0, y0, x1, y1);
  });
  stepped(line, &FrontierPoint::bubble_ratio, x, y,
          [&](double x0, double y0, double x1, double y1) {
            canvas.line(x0, y0, x1, y1, found_colour, 1.8);
            keep_clear(x0, y0, x1, y1);
          });
  for (const FrontierPoint& point : line)
    canvas.dot(x(point.memory), y(point.bubble_ratio), 2.2, found_colour);
  name_dots(canvas, dots, obstacles, x, y);
  trace::write_file(file, canvas.finish());
}

}  // namespace pipewright::analysis
