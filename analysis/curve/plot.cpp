#include "analysis/curve/plot.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/timeline/axis.hpp"

namespace pipewright::analysis {

std::vector<double> Scale::ticks() const {
  std::vector<double> values;
  for (double i = std::ceil(from / step - 1e-9); i * step <= to; ++i)
    values.push_back(i * step + 0.0);  // -0 becomes 0
  return values;
}

Scale scale_of(double from, double to, double start, double end, int most) {
  const double span = std::max({to - from, std::abs(to) * 1e-6, 1e-9});
  const double step = round_step(span / most);
  const double low = std::max(0.0, (std::floor(from / step + 1e-9) - 0.25) * step);
  return {low, (std::ceil((from + span) / step - 1e-9) + 0.25) * step, start, end, step};
}

void name_dots(Canvas& canvas, const std::vector<NamedDot>& named,
               const std::vector<Area>& obstacles, const Area& plot) {
  constexpr TextStyle style{.size = 9.5};
  std::vector<Named> dots;
  std::vector<std::string> words;
  for (const NamedDot& dot : named) {
    words.push_back(canvas.fitted(dot.name, (plot.right - plot.left) * 0.4, style));
    dots.push_back({dot.x, dot.y, canvas.text_width(words.back(), style), style.size});
  }
  const auto places = place_labels(dots, obstacles, plot);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    if (!places[i]) continue;
    const Area& place = *places[i];
    // A thread to the dot where the name had to go away from it.
    const double near_x = std::clamp(dots[i].x, place.left, place.right);
    const double near_y = std::clamp(dots[i].y, place.top, place.bottom);
    if (std::hypot(near_x - dots[i].x, near_y - dots[i].y) > 12)
      canvas.line(dots[i].x, dots[i].y, near_x, near_y, faint_ink, 0.4);
    canvas.text(place.left, place.bottom - 1.5, words[i], style);
  }
}

}  // namespace pipewright::analysis
