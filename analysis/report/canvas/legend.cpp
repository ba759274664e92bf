#include "analysis/report/canvas/legend.hpp"

#include <algorithm>

namespace pipewright::analysis {
namespace {

constexpr double swatch_width = 18;
constexpr double swatch_height = 10;
constexpr double gap = 5;
constexpr double next = 16;  // from one entry to the following
constexpr TextStyle words_style{.size = 10};

void draw_mark(Canvas& canvas, const Swatch& swatch, double x, double baseline) {
  const double bottom = baseline + 1;
  const double top = bottom - swatch_height;
  const double middle = (top + bottom) / 2;
  switch (swatch.kind) {
    case Swatch::Kind::field:
      canvas.rectangle(x, top, x + swatch_width, bottom);
      canvas.fill(swatch.colour);
      canvas.rectangle(x, top, x + swatch_width, bottom);
      return canvas.outline(faint_ink, 0.4);
    case Swatch::Kind::hatched:
      canvas.hatch(x, top, x + swatch_width, bottom);
      canvas.rectangle(x, top, x + swatch_width, bottom);
      return canvas.outline(faint_ink, 0.4);
    case Swatch::Kind::line:
      return canvas.line(x, middle, x + swatch_width, middle, swatch.colour, 1.4);
    case Swatch::Kind::dashes:
      return canvas.dashes(x, middle, x + swatch_width, middle, swatch.colour, 1.2);
    case Swatch::Kind::dot:
      return canvas.dot(x + swatch_width / 2, middle, 3.2, swatch.colour);
    case Swatch::Kind::cross:
      return draw_cross(canvas, x + swatch_width / 2, middle, swatch.colour);
  }
}

}  // namespace

void draw_cross(Canvas& canvas, double x, double y, Colour colour) {
  constexpr double arm = 3.2;
  canvas.line(x - arm, y - arm, x + arm, y + arm, colour, 1.8);
  canvas.line(x - arm, y + arm, x + arm, y - arm, colour, 1.8);
}

double draw_swatches(Canvas& canvas, const std::vector<Swatch>& swatches, double left, double right,
                     double baseline, bool really) {
  double x = left;
  for (const Swatch& swatch : swatches) {
    const double width = swatch_width + gap + canvas.text_width(swatch.words, words_style);
    if (x > left && x + width > right) {
      x = left;
      baseline += legend_line;
    }
    if (really) {
      draw_mark(canvas, swatch, x, baseline);
      canvas.text(x + swatch_width + gap, baseline, swatch.words, words_style);
    }
    x += width + next;
  }
  return baseline;
}

void draw_heading(Canvas& canvas, double left, double right, double baseline,
                  const std::string& name, const std::string& details, double most_of_name) {
  constexpr TextStyle bold{.size = 12, .bold = true};
  const std::string shown = canvas.fitted(name, (right - left) * most_of_name, bold);
  canvas.text(left, baseline, shown, bold);
  const double used = canvas.text_width(shown, bold) + 10;
  constexpr TextStyle plain{.size = 10.5, .colour = faint_ink};
  canvas.text(left + used, baseline,
              canvas.fitted(details, std::max(0.0, right - left - used), plain), plain);
}

}  // namespace pipewright::analysis
