#include "analysis/report/canvas/legend.hpp"

#include <algorithm>
#include <memory>

namespace pipewright::analysis {
namespace {

constexpr double legend_swatch_width = 18;
constexpr double legend_swatch_height = 10;
constexpr double swatch_gap = 5;
constexpr double entry_gap = 16;
constexpr TextStyle legend_text_style{.size = 10};

void draw_mark(Canvas& canvas, const Swatch& swatch, double x, double baseline) {
  const double bottom = baseline + 1;
  const double top = bottom - legend_swatch_height;
  const double middle = (top + bottom) / 2;
  switch (swatch.kind) {
    case Swatch::Kind::field:
      canvas.rectangle(x, top, x + legend_swatch_width, bottom);
      canvas.fill(swatch.colour);
      canvas.rectangle(x, top, x + legend_swatch_width, bottom);
      return canvas.outline(faint_ink, 0.4);
    case Swatch::Kind::hatched:
      canvas.hatch(x, top, x + legend_swatch_width, bottom);
      canvas.rectangle(x, top, x + legend_swatch_width, bottom);
      return canvas.outline(faint_ink, 0.4);
    case Swatch::Kind::line:
      return canvas.line(x, middle, x + legend_swatch_width, middle, swatch.colour, 1.4);
    case Swatch::Kind::dashes:
      return canvas.dashes(x, middle, x + legend_swatch_width, middle, swatch.colour, 1.2);
    case Swatch::Kind::dot:
      return canvas.dot(x + legend_swatch_width / 2, middle, 3.2, swatch.colour);
    case Swatch::Kind::cross:
      return draw_cross(canvas, x + legend_swatch_width / 2, middle, swatch.colour);
  }
}

// Returns the lower left corner of each entry of a legend, on the base line of its text.
std::vector<Point> entry_corners(Canvas& canvas, const std::vector<Swatch>& swatches, double left,
                                 double right, double baseline) {
  std::vector<Point> corners;
  double x = left;
  for (const Swatch& swatch : swatches) {
    const double width =
        legend_swatch_width + swatch_gap + canvas.text_width(swatch.words, legend_text_style);
    if (x > left && x + width > right) {
      x = left;
      baseline += legend_line;
    }
    corners.push_back({x, baseline});
    x += width + entry_gap;
  }
  return corners;
}

}  // namespace

void draw_cross(Canvas& canvas, double x, double y, Colour colour) {
  constexpr double arm = 3.2;
  canvas.line(x - arm, y - arm, x + arm, y + arm, colour, 1.8);
  canvas.line(x - arm, y + arm, x + arm, y - arm, colour, 1.8);
}

void draw_swatches(Canvas& canvas, const std::vector<Swatch>& swatches, double left, double right,
                   double baseline) {
  const std::vector<Point> corners = entry_corners(canvas, swatches, left, right, baseline);
  for (std::size_t i = 0; i < swatches.size(); ++i) {
    draw_mark(canvas, swatches[i], corners[i].x, corners[i].y);
    canvas.text(corners[i].x + legend_swatch_width + swatch_gap, corners[i].y, swatches[i].words,
                legend_text_style);
  }
}

double last_baseline(const std::vector<Swatch>& swatches, double left, double right,
                     double baseline) {
  const std::unique_ptr<Canvas> ruler = make_canvas(PictureKind::svg, 1, 1);
  const std::vector<Point> corners = entry_corners(*ruler, swatches, left, right, baseline);
  return corners.empty() ? baseline : corners.back().y;
}

void draw_heading(Canvas& canvas, double left, double right, double baseline,
                  const std::string& name, const std::string& details, double max_name_share) {
  constexpr TextStyle bold{.size = 12, .bold = true};
  const std::string fitted_name = canvas.fitted(name, (right - left) * max_name_share, bold);
  canvas.text(left, baseline, fitted_name, bold);
  const double details_offset = canvas.text_width(fitted_name, bold) + 10;
  constexpr TextStyle plain{.size = 10.5, .colour = faint_ink};
  canvas.text(left + details_offset, baseline,
              canvas.fitted(details, std::max(0.0, right - left - details_offset), plain), plain);
}

}  // namespace pipewright::analysis
