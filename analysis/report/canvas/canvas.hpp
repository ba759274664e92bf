#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "analysis/report/palette.hpp"

namespace pipewright::analysis {

inline constexpr Colour ink{0.10, 0.11, 0.13};
inline constexpr Colour faint_ink{0.40, 0.42, 0.45};
inline constexpr Colour idle_paint{0.925, 0.933, 0.945};

enum class Align : std::uint8_t { left, centre, right };

struct TextStyle {
  double size = 10;
  Align align = Align::left;
  bool bold = false;
  Colour colour = ink;
};

struct Point {
  double x;
  double y;
};

// A page of a picture. Coordinates are points from the upper left corner; the y of a text is its
// base line.
class Canvas {
 public:
  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  // Rectangles and polygons collect in a path until fill() or outline() draws the whole path in one
  // colour.
  virtual void rectangle(double left, double top, double right, double bottom) = 0;
  virtual void polygon(std::span<const Point> corners) = 0;
  virtual void fill(Colour colour) = 0;
  virtual void outline(Colour colour, double width) = 0;
  virtual void line(double x0, double y0, double x1, double y1, Colour colour, double width) = 0;
  // Draws a line through the points; the last point is not joined to the first.
  virtual void path(std::span<const Point> points, Colour colour, double width) = 0;
  virtual void dashes(double x0, double y0, double x1, double y1, Colour colour, double width) = 0;
  virtual void dot(double x, double y, double radius, Colour colour) = 0;
  // Fills the area with diagonal lines on a light ground.
  virtual void hatch(double left, double top, double right, double bottom) = 0;

  // Draws bytes that are not UTF-8 and control characters as U+FFFD.
  virtual void text(double x, double y, std::string_view words, const TextStyle& style) = 0;
  virtual double text_width(std::string_view words, const TextStyle& style) = 0;
  // Returns `words`, cut with an ellipsis if they are wider than `width`.
  virtual std::string fitted(std::string_view words, double width, const TextStyle& style) = 0;

  // Returns the bytes of the file. Nothing can be drawn afterwards.
  virtual std::string finish() = 0;
};

// Makes a canvas that draws with cairo and writes a file of this kind.
std::unique_ptr<Canvas> make_canvas(PictureKind kind, double width, double height);

}  // namespace pipewright::analysis
