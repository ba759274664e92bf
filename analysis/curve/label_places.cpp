#include "analysis/curve/label_places.hpp"

#include <algorithm>
#include <array>

namespace pipewright::analysis {
namespace {

constexpr double dot_radius = 4;
constexpr double gap = 4;  // between a dot and its name

// Around a dot: right and left of it, above and below, and in the corners.
std::array<Area, 8> around(const Named& dot, double away) {
  const double x = dot_radius + gap + away;
  const double middle = dot.y - dot.height / 2;
  const double above = dot.y - x - dot.height;
  const double below = dot.y + x;
  const auto at = [&](double left, double top) {
    return Area{left, top, left + dot.width, top + dot.height};
  };
  const double right = dot.x + x;
  const double left = dot.x - x - dot.width;
  const double centre = dot.x - dot.width / 2;
  return {at(right, middle), at(right, above), at(centre, above), at(right, below),
          at(centre, below), at(left, middle), at(left, above),   at(left, below)};
}

bool within(const Area& inner, const Area& outer) {
  return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top &&
         inner.bottom <= outer.bottom;
}

}  // namespace

bool overlap(const Area& a, const Area& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

std::vector<std::optional<Area>> place_labels(const std::vector<Named>& dots,
                                              const std::vector<Area>& obstacles,
                                              const Area& page) {
  std::vector<Area> taken = obstacles;
  for (const Named& dot : dots)
    taken.push_back(
        {dot.x - dot_radius, dot.y - dot_radius, dot.x + dot_radius, dot.y + dot_radius});
  const auto is_free = [&](const Area& area) {
    return within(area, page) &&
           std::ranges::none_of(taken, [&](const Area& other) { return overlap(area, other); });
  };
  std::vector<std::optional<Area>> places;
  for (const Named& dot : dots) {
    std::optional<Area> place;
    constexpr double farthest = 90;
    for (double away = 0; away <= farthest && !place; away += 6)
      for (const Area& area : around(dot, away))
        if (!place && is_free(area)) place = area;
    if (place) taken.push_back(*place);
    places.push_back(place);
  }
  return places;
}

}  // namespace pipewright::analysis
