#include "analysis/comm/curve_marks.hpp"

#include <array>
#include <vector>

#include "analysis/component_palette.hpp"

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

}  // namespace pipewright::analysis
