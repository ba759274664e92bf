#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/palette.hpp"

// Only .cpp files include this header, as for canvas.hpp.
namespace pipewright::analysis {

// Ramps run from light to dark, so that colours stay distinct in black and white. They follow
// YlGnBu and YlOrBr of ColorBrewer, which suit all kinds of colour vision (Harrower and Brewer
// 2003).
using ColourRamp = std::array<Colour, 4>;
inline constexpr ColourRamp blue_ramp{
    {{0.99, 0.96, 0.76}, {0.50, 0.80, 0.73}, {0.11, 0.50, 0.72}, {0.03, 0.13, 0.38}}};
inline constexpr ColourRamp brown_ramp{
    {{0.99, 0.96, 0.76}, {0.99, 0.75, 0.34}, {0.83, 0.35, 0.05}, {0.38, 0.12, 0.02}}};

// Maps values above 0 to colours. Few distinct values get equally spaced colours in their order;
// many get colours by their logarithms.
class ColourScale {
 public:
  // Values that differ by less than a thousandth count as one. There must be at least one value.
  ColourScale(const ColourRamp& ramp, std::vector<double> values);

  // Returns the index of a value among the distinct values, in ascending order.
  std::uint32_t number_of(double value) const;
  Colour colour(std::uint32_t number) const { return at(position(values_[number])); }
  // Draws a bar of all colours, and below it their values times `unit`.
  void draw(Canvas& canvas, const Area& bar, double unit) const;

 private:
  bool is_stepped() const;
  double position(double value) const;  // Position on the ramp, 0 to 1.
  Colour at(double position) const;
  void draw_steps(Canvas& canvas, const Area& bar, double unit) const;
  void draw_gradient(Canvas& canvas, const Area& bar, double unit) const;

  ColourRamp ramp_;
  std::vector<double> values_;  // Ascending.
};

std::string short_number(double value);  // "230", "6.8", "1240"

}  // namespace pipewright::analysis
