#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/palette.hpp"

// Helpers for plots: axis ticks, scales, and labels beside dots.
namespace pipewright::analysis {

class Canvas;

struct Tick {
  double s;
  std::string label;
};

// Ticks from 0 to the end of a time span, 1, 2 or 5 x 10^k units apart.
struct TimeTicks {
  std::vector<Tick> ticks;
  std::string unit;  // Unit of the labels: s, ms, us or ns.
};

// Returns the smallest number of the form 1, 2 or 5 x 10^k that is at least `min_step`.
double round_step(double min_step);

// Returns ticks at equal distances that divide the time span into at most `max_steps` steps.
TimeTicks time_ticks(double span_s, int max_steps);

struct Area {
  double left, top, right, bottom;
};

bool overlap(const Area& a, const Area& b);

// Position of a dot in a plot, and the width and height of its text label.
struct LabelledDot {
  double x, y;
  double width, height;
};

// Chooses a place for the label of each dot: beside the dot if possible, otherwise at growing
// distances, within `page` and clear of all dots, earlier labels and `obstacles`. A label without a
// value found no room.
std::vector<std::optional<Area>> place_labels(const std::vector<LabelledDot>& dots,
                                              const std::vector<Area>& obstacles, const Area& page);

// Blue and vermilion of the palette by Okabe and Ito.
inline constexpr Colour line_colour{0.000, 0.447, 0.698};
inline constexpr Colour dot_colour{0.835, 0.369, 0.000};
inline constexpr Colour grid_colour{0.90, 0.91, 0.92};

// Linear map from values to positions on the page.
struct Scale {
  double from, to;    // Range of values.
  double start, end;  // Range on the page, in points.
  double step;        // Distance between grid lines, in values.
  double operator()(double value) const {
    return start + (value - from) / (to - from) * (end - start);
  }
  std::vector<double> ticks() const;
};

// Makes a scale that covers the values in at most `max_steps` whole steps. Equal values get a range
// that is not empty.
Scale scale_of(double from, double to, double start, double end, int max_steps);

// A plot's area, the scales of its axes, and the texts of their ticks and titles.
struct PlotAxes {
  Area plot;
  Scale x, y;
  std::function<std::string(double)> x_text, y_text;
  std::string x_words;
};
void draw_axes(Canvas& canvas, const PlotAxes& axes);

struct NamedDot {
  std::string name;
  double x, y;  // Position on the page, in points.
};

// Draws names beside their dots, clear of each other and of `obstacles`. A name for which there is
// no room is left out.
void name_dots(Canvas& canvas, const std::vector<NamedDot>& named,
               const std::vector<Area>& obstacles, const Area& plot);

}  // namespace pipewright::analysis
