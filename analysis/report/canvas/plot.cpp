#include "analysis/report/canvas/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "analysis/report/canvas/canvas.hpp"

namespace pipewright::analysis {
namespace {

constexpr double label_dot_radius = 4;
constexpr double label_distance = 4;  // Gap between a dot and its label.

// Returns the possible places of a label around its dot in order of preference: right, upper right,
// above, lower right, below, left, upper left, lower left.
std::array<Area, 8> places_around(const LabelledDot& dot, double distance) {
  const double x = label_dot_radius + label_distance + distance;
  const double middle = dot.y - dot.height / 2;
  const double above = dot.y - x - dot.height;
  const double below = dot.y + x;
  const auto area_at = [&](double left, double top) {
    return Area{left, top, left + dot.width, top + dot.height};
  };
  const double right = dot.x + x;
  const double left = dot.x - x - dot.width;
  const double centre = dot.x - dot.width / 2;
  return {area_at(right, middle), area_at(right, above),  area_at(centre, above),
          area_at(right, below),  area_at(centre, below), area_at(left, middle),
          area_at(left, above),   area_at(left, below)};
}

bool lies_within(const Area& inner, const Area& outer) {
  return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top &&
         inner.bottom <= outer.bottom;
}

}  // namespace

double round_step(double min_step) {
  const double power = std::pow(10, std::floor(std::log10(min_step)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= min_step * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

TimeTicks time_ticks(double span_s, int max_steps) {
  struct Unit {
    const char* name;
    double per_s;
  };
  static constexpr std::array<Unit, 4> units{{{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}};
  const auto* unit = units.begin();
  while (span_s * unit->per_s < 1 && std::next(unit) != units.end()) ++unit;

  const double span = span_s * unit->per_s;
  const double step = round_step(span / max_steps);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  TimeTicks result{{}, unit->name};
  for (int i = 0; i * step <= span * (1 + 1e-9); ++i)
    result.ticks.push_back({i * step / unit->per_s, fmt::format("{:.{}f}", i * step, decimals)});
  return result;
}

bool overlap(const Area& a, const Area& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::vector<std::optional<Area>> place_labels(const std::vector<LabelledDot>& dots,
                                              const std::vector<Area>& obstacles,
                                              const Area& page) {
  std::vector<Area> taken = obstacles;
  for (const LabelledDot& dot : dots)
    taken.push_back({dot.x - label_dot_radius, dot.y - label_dot_radius, dot.x + label_dot_radius,
                     dot.y + label_dot_radius});
  const auto is_free = [&](const Area& area) {
    return lies_within(area, page) && std::ranges::none_of(taken, [&](const Area& obstacle) {
             return overlap(area, obstacle);
           });
  };
  std::vector<std::optional<Area>> places;
  for (const LabelledDot& dot : dots) {
    std::optional<Area> place;
    constexpr double farthest = 90;
    for (double distance = 0; distance <= farthest && !place; distance += 6)
      for (const Area& area : places_around(dot, distance))
        if (!place && is_free(area)) place = area;
    if (place) taken.push_back(*place);
    places.push_back(place);
  }
  return places;
}

std::vector<double> Scale::ticks() const {
  std::vector<double> values;
  for (double i = std::ceil(from / step - 1e-9); i * step <= to; ++i)
    values.push_back(i * step + 0.0);  // Adding 0 turns -0 into 0.
  return values;
}

Scale scale_of(double from, double to, double start, double end, int max_steps) {
  const double span = std::max({to - from, std::abs(to) * 1e-6, 1e-9});
  const double step = round_step(span / max_steps);
  const double low = std::max(0.0, (std::floor(from / step + 1e-9) - 0.25) * step);
  return {low, (std::ceil((from + span) / step - 1e-9) + 0.25) * step, start, end, step};
}

void draw_axes(Canvas& canvas, const PlotAxes& axes) {
  const auto& [plot, x, y, x_text, y_text, x_words] = axes;
  for (const double value : y.ticks()) {
    canvas.line(plot.left, y(value), plot.right, y(value), grid_colour, 0.7);
    canvas.text(plot.left - 7, y(value) + 3.5, y_text(value), {.size = 10, .align = Align::right});
  }
  for (const double value : x.ticks()) {
    canvas.line(x(value), plot.bottom, x(value), plot.bottom + 4, ink, 0.7);
    canvas.text(x(value), plot.bottom + 16, x_text(value), {.size = 10, .align = Align::centre});
  }
  canvas.line(plot.left, plot.bottom, plot.right, plot.bottom, ink, 0.7);
  canvas.text((plot.left + plot.right) / 2, plot.bottom + 36, x_words,
              {.size = 10.5, .align = Align::centre});
}

void name_dots(Canvas& canvas, const std::vector<NamedDot>& named,
               const std::vector<Area>& obstacles, const Area& plot) {
  constexpr TextStyle style{.size = 9.5};
  std::vector<LabelledDot> dots;
  std::vector<std::string> words;
  for (const NamedDot& dot : named) {
    words.push_back(canvas.fitted(dot.name, (plot.right - plot.left) * 0.4, style));
    dots.push_back({dot.x, dot.y, canvas.text_width(words.back(), style), style.size});
  }
  const auto places = place_labels(dots, obstacles, plot);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    if (!places[i]) continue;
    const Area& place = *places[i];
    // A thin line connects a label that had to move away with its dot.
    const double near_x = std::clamp(dots[i].x, place.left, place.right);
    const double near_y = std::clamp(dots[i].y, place.top, place.bottom);
    if (std::hypot(near_x - dots[i].x, near_y - dots[i].y) > 12)
      canvas.line(dots[i].x, dots[i].y, near_x, near_y, faint_ink, 0.4);
    canvas.text(place.left, place.bottom - 1.5, words[i], style);
  }
}

}  // namespace pipewright::analysis
