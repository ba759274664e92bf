#pragma once

#include <string>
#include <vector>

#include "analysis/curve/label_places.hpp"
#include "analysis/timeline/canvas.hpp"

// What scatter plots share. Included by .cpp files only, as canvas.hpp.
namespace pipewright::analysis {

inline constexpr Colour line_colour{0.000, 0.447, 0.698};  // Okabe and Ito's blue and vermilion
inline constexpr Colour dot_colour{0.835, 0.369, 0.000};
inline constexpr Colour grid_colour{0.90, 0.91, 0.92};

// From values to places on the page.
struct Scale {
  double from, to;    // of the values
  double start, end;  // on the page
  double step;        // between grid lines, in values
  double operator()(double value) const {
    return start + (value - from) / (to - from) * (end - start);
  }
  std::vector<double> ticks() const;
};

// Whole steps around the values, and something to divide by where they are all equal.
Scale scale_of(double from, double to, double start, double end, int most);

struct NamedDot {
  std::string name;
  double x, y;  // on the page
};

// Names beside their dots, clear of each other and of `obstacles`; one for which there is no room
// is left out.
void name_dots(Canvas& canvas, const std::vector<NamedDot>& named,
               const std::vector<Area>& obstacles, const Area& plot);

}  // namespace pipewright::analysis
