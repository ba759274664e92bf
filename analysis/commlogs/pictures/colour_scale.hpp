#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/canvas/canvas.hpp"
#include "analysis/report/canvas/plot.hpp"
#include "analysis/report/palette.hpp"

// Included by .cpp files only, as canvas.hpp.
namespace pipewright::analysis {

// From light to dark, so that they stay apart in black and white, too; after ColorBrewer's YlGnBu
// and YlOrBr, which people of all kinds of colour vision can read (Harrower and Brewer 2003).
using ColourRamp = std::array<Colour, 4>;
inline constexpr ColourRamp blue_ramp{
    {{0.99, 0.96, 0.76}, {0.50, 0.80, 0.73}, {0.11, 0.50, 0.72}, {0.03, 0.13, 0.38}}};
inline constexpr ColourRamp brown_ramp{
    {{0.99, 0.96, 0.76}, {0.99, 0.75, 0.34}, {0.83, 0.35, 0.05}, {0.38, 0.12, 0.02}}};

// Colours for values > 0. Few different ones are as far apart as can be, in their order; many go by
// their logarithms.
class ColourScale {
 public:
  // Values that differ by less than a thousandth count as one; there is at least one.
  ColourScale(const ColourRamp& ramp, std::vector<double> values);

  // The different values, the least first, by number.
  std::uint32_t number_of(double value) const;
  Colour colour(std::uint32_t number) const { return at(place(values_[number])); }
  // A bar of all colours, and below it what the values are, times `unit`.
  void draw(Canvas& canvas, const Area& bar, double unit) const;

 private:
  bool is_stepped() const;
  double place(double value) const;  // on the ramp, 0..1
  Colour at(double place) const;
  void draw_steps(Canvas& canvas, const Area& bar, double unit) const;
  void draw_gradient(Canvas& canvas, const Area& bar, double unit) const;

  ColourRamp ramp_;
  std::vector<double> values_;  // ascending
};

std::string short_number(double value);  // "230", "6.8", "1240"

}  // namespace pipewright::analysis
