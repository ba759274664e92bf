#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <cairo.h>

#include "analysis/palette.hpp"

namespace pipewright::analysis {

// The little of cairo that a timeline needs. Included by .cpp files only.

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

// A page of one of the kinds, in points from its upper left corner. y of a text is its base line.
class Canvas {
 public:
  Canvas(PictureKind kind, double width, double height);
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  // Paths gather rectangles until they are filled, all in one colour, or outlined.
  void rectangle(double left, double top, double right, double bottom);
  void polygon(std::span<const Point> corners);
  void fill(Colour colour);
  void outline(Colour colour, double width);
  void line(double x0, double y0, double x1, double y1, Colour colour, double width);
  void path(std::span<const Point> points, Colour colour, double width);  // open
  void dashes(double x0, double y0, double x1, double y1, Colour colour, double width);
  void dot(double x, double y, double radius, Colour colour);
  // Diagonal lines on a light ground.
  void hatch(double left, double top, double right, double bottom);

  // Bytes that are no UTF-8 and control characters are drawn as U+FFFD.
  void text(double x, double y, std::string_view words, const TextStyle& style);
  double text_width(std::string_view words, const TextStyle& style);
  // Cut with an ellipsis where it is wider than `width`.
  std::string fitted(std::string_view words, double width, const TextStyle& style);

  std::string finish();  // the file's bytes; nothing can be drawn after it

 private:
  struct Destroy {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
    void operator()(cairo_t* context) const { cairo_destroy(context); }
  };
  void set_colour(Colour colour);
  void set_font(const TextStyle& style);

  PictureKind kind_;
  std::string bytes_;  // cairo writes to it as long as the surface lives
  std::unique_ptr<cairo_surface_t, Destroy> surface_;
  std::unique_ptr<cairo_t, Destroy> context_;
};

}  // namespace pipewright::analysis
