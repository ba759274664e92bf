#include "analysis/comm/curve_picture.hpp"

#include <algorithm>
#include <stdexcept>

#include "analysis/comm/curve_panel.hpp"
#include "analysis/picture/swatches.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

constexpr double page_width = 760;  // points, as all lengths here
constexpr double margin = 22;
constexpr double left = 74;  // of the plots
constexpr double heading = 40;

bool can_be_drawn(const DrawnCurve& curve) {
  return std::ranges::any_of(curve.compared.rows,
                             [](const ComparedRow& row) { return row.measured.bytes > 0; });
}

Operation operation_of(const DrawnCurve& curve) {
  return curve.compared.rows.front().measured.operation;
}

using Panel = std::span<const DrawnCurve>;

std::vector<Panel> panels_of(std::span<const DrawnCurve> curves) {
  std::vector<Panel> panels;
  const bool by_operation = curves.size() > most_curves;
  for (std::size_t begin = 0, end = 0; begin < curves.size(); begin = end) {
    while (end < curves.size() && end - begin < most_curves &&
           (!by_operation || operation_of(curves[end]) == operation_of(curves[begin])))
      ++end;
    panels.push_back(curves.subspan(begin, end - begin));
  }
  return panels;
}

}  // namespace

std::string curve_picture(std::span<const DrawnCurve> curves, const CurveWords& words,
                          CurveAxis axis, PictureKind kind) {
  std::vector<DrawnCurve> drawn;
  std::ranges::copy_if(curves, std::back_inserter(drawn), can_be_drawn);
  if (drawn.empty()) throw std::logic_error("a picture of no curves");
  const std::vector<Panel> panels = panels_of(drawn);
  double height = heading;
  for (const Panel& panel : panels) height += panel_height(panel);

  Canvas canvas(kind, page_width, height);
  draw_heading(canvas, margin, page_width - margin, 26, words.title, words.details);
  double top = heading;
  for (const Panel& panel : panels) {
    draw_panel(canvas, panel, axis, {margin, left, page_width - margin, top});
    top += panel_height(panel);
  }
  return canvas.finish();
}

void draw_curves(std::span<const DrawnCurve> curves, const CurveWords& words, CurveAxis axis,
                 const std::filesystem::path& file, PictureKind kind) {
  trace::write_file(file, curve_picture(curves, words, axis, kind));
}

}  // namespace pipewright::analysis
