#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/curve/label_places.hpp"
#include "analysis/palette.hpp"
#include "analysis/timeline/canvas.hpp"

// Included by .cpp files only, as canvas.hpp.
namespace pipewright::analysis {

// From light to dark, so that they stay apart in black and white, too; after ColorBrewer's YlGnBu
// and YlOrBr, which people of all kinds of colour vision can read (Harrower and Brewer 2003).
using ColourRamp = std::array<Colour, 4>;
inline constexpr ColourRamp blue_ramp{
    {{0.99, 0.96, 0.76}, {0.50, 0.80, 0.73}, {0.11, 0.50, 0.72}, {0.03, 0.13, 0.38}}};
inline constexpr ColourRamp brown_ramp{
    {{0.99, 0.96, 0.76}, {0.99, 0.75, 0.34}, {0.83, 0.35, 0.05}, {0.38, 0.12, 0.02}}};

// Colours for values > 0 by their logarithm, from the least to the greatest of those that there
// are.
class ColourScale {
 public:
  // Values that differ by less than a thousandth share a colour.
  ColourScale(const ColourRamp& ramp, std::vector<double> values);

  Colour operator()(double value) const;
  // A bar of all colours, and below it what the values are, times `unit`.
  void draw(Canvas& canvas, const Area& bar, double unit) const;

 private:
  double along(double value) const;  // 0..1
  std::vector<double> ticks() const;

  ColourRamp ramp_;
  std::vector<double> values_;  // ascending
};

std::string short_number(double value);  // "230", "6.8", "1240"

}  // namespace pipewright::analysis
