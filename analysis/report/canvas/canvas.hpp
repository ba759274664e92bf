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

// A page of one of the kinds of pictures, in points from its upper left corner. y of a text is its
// base line.
class Canvas {
 public:
  Canvas() = default;
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;
  virtual ~Canvas() = default;

  // Paths gather rectangles until they are filled, all in one colour, or outlined.
  virtual void rectangle(double left, double top, double right, double bottom) = 0;
  virtual void polygon(std::span<const Point> corners) = 0;
  virtual void fill(Colour colour) = 0;
  virtual void outline(Colour colour, double width) = 0;
  virtual void line(double x0, double y0, double x1, double y1, Colour colour, double width) = 0;
  virtual void path(std::span<const Point> points, Colour colour, double width) = 0;  // open
  virtual void dashes(double x0, double y0, double x1, double y1, Colour colour, double width) = 0;
  virtual void dot(double x, double y, double radius, Colour colour) = 0;
  // Diagonal lines on a light ground.
  virtual void hatch(double left, double top, double right, double bottom) = 0;

  // Bytes that are no UTF-8 and control characters are drawn as U+FFFD.
  virtual void text(double x, double y, std::string_view words, const TextStyle& style) = 0;
  virtual double text_width(std::string_view words, const TextStyle& style) = 0;
  // Cut with an ellipsis where it is wider than `width`.
  virtual std::string fitted(std::string_view words, double width, const TextStyle& style) = 0;

  virtual std::string finish() = 0;  // the file's bytes; nothing can be drawn after it
};

// One that cairo draws.
std::unique_ptr<Canvas> make_canvas(PictureKind kind, double width, double height);

}  // namespace pipewright::analysis
