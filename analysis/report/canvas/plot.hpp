#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/palette.hpp"

// What plots share: ticks of axes, scales, and names beside dots.
namespace pipewright::analysis {

class Canvas;

struct Tick {
  double s;
  std::string label;
};

// Ticks from 0 to the end of a span, 1, 2 or 5 x 10^k units apart.
struct TimeTicks {
  std::vector<Tick> ticks;
  std::string unit;  // of the labels: s, ms, us or ns
};

// The least of 1, 2 or 5 x 10^k that is not below `least`.
double round_step(double least);

TimeTicks time_ticks(double span_s, int most);  // at most so many steps

struct Area {
  double left, top, right, bottom;
};

bool overlap(const Area& a, const Area& b);

// A dot to be named, by a text of this size.
struct Named {
  double x, y;
  double width, height;
};

// Where each name goes: beside its dot, or else farther and farther off, clear of all dots, of the
// names before it and of `obstacles`, within `page`. Without a value: there is no room.
std::vector<std::optional<Area>> place_labels(const std::vector<Named>& dots,
                                              const std::vector<Area>& obstacles, const Area& page);

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

// The grid and the numbers of both axes, with words below them.
struct PlotAxes {
  Area plot;
  Scale x, y;
  std::function<std::string(double)> x_text, y_text;
  std::string x_words;
};
void draw_axes(Canvas& canvas, const PlotAxes& axes);

struct NamedDot {
  std::string name;
  double x, y;  // on the page
};

// Names beside their dots, clear of each other and of `obstacles`; one for which there is no room
// is left out.
void name_dots(Canvas& canvas, const std::vector<NamedDot>& named,
               const std::vector<Area>& obstacles, const Area& plot);

}  // namespace pipewright::analysis
