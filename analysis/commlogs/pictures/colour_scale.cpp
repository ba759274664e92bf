#include "analysis/commlogs/pictures/colour_scale.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

constexpr double equal_ratio = 1.001;        // Values up to this ratio count as equal.
constexpr std::size_t max_colour_steps = 8;  // Most steps of a bar.
constexpr TextStyle scale_label_style{.size = 9, .align = Align::centre};

}  // namespace

std::string short_number(double value) {
  return std::abs(value) < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

ColourScale::ColourScale(const ColourRamp& ramp, std::vector<double> values)
    : ramp_(ramp), values_(std::move(values)) {
  if (values_.empty()) throw std::logic_error("a colour scale has no values");
  std::ranges::sort(values_);
  const auto equal =
      std::ranges::unique(values_, [](double a, double b) { return b < a * equal_ratio; });
  values_.erase(equal.begin(), equal.end());
}

std::uint32_t ColourScale::number_of(double value) const {
  const auto upper = std::ranges::upper_bound(values_, value);
  return static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(upper - values_.begin(), 1) - 1);
}

bool ColourScale::is_stepped() const { return values_.size() <= max_colour_steps; }

double ColourScale::position(double value) const {
  if (values_.size() == 1) return 0.5;
  if (is_stepped()) return number_of(value) / static_cast<double>(values_.size() - 1);
  return std::log(value / values_.front()) / std::log(values_.back() / values_.front());
}

Colour ColourScale::at(double position) const {
  const double index = std::clamp(position, 0.0, 1.0) * static_cast<double>(ramp_.size() - 1);
  const auto lower = std::min(static_cast<std::size_t>(index), ramp_.size() - 2);
  return mix(ramp_[lower], ramp_[lower + 1], index - static_cast<double>(lower));
}

void ColourScale::draw(Canvas& canvas, const Area& bar, double unit) const {
  is_stepped() ? draw_steps(canvas, bar, unit) : draw_gradient(canvas, bar, unit);
}

void ColourScale::draw_steps(Canvas& canvas, const Area& bar, double unit) const {
  const double width = (bar.right - bar.left) / static_cast<double>(values_.size());
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    const double left = bar.left + i * width;
    canvas.rectangle(left, bar.top, left + width, bar.bottom);
    canvas.fill(colour(i));
    canvas.text(left + width / 2, bar.bottom + 12, short_number(values_[i] * unit),
                scale_label_style);
  }
}

void ColourScale::draw_gradient(Canvas& canvas, const Area& bar, double unit) const {
  constexpr int steps = 96;
  const double width = bar.right - bar.left;
  for (int i = 0; i < steps; ++i) {
    const double left = bar.left + width * i / steps;
    // Rectangles overlap their right neighbours, which leaves no seam.
    canvas.rectangle(left, bar.top, i + 1 < steps ? left + 2 * width / steps : bar.right,
                     bar.bottom);
    canvas.fill(at((i + 0.5) / steps));
  }
  // Ticks stand at both ends, and at 1, 2 and 5 times powers of ten between them.
  std::vector<double> ticks{values_.front(), values_.back()};
  for (double power = std::pow(10, std::floor(std::log10(values_.front()))); power < values_.back();
       power *= 10)
    for (const double factor : {1.0, 2.0, 5.0}) ticks.push_back(power * factor);
  std::vector<std::pair<double, double>> label_ranges;  // Ranges of labels, from left to right.
  for (const double tick : ticks) {
    if (tick < values_.front() || tick > values_.back()) continue;
    const double x = bar.left + position(tick) * width;
    const std::string label = short_number(tick * unit);
    const double half_width = canvas.text_width(label, scale_label_style) / 2 + 4;
    if (std::ranges::any_of(label_ranges, [&](auto& range) {
          return x - half_width < range.second && range.first < x + half_width;
        }))
      continue;
    label_ranges.emplace_back(x - half_width, x + half_width);
    canvas.line(x, bar.bottom, x, bar.bottom + 3, ink, 0.7);
    canvas.text(x, bar.bottom + 13, label, scale_label_style);
  }
}

}  // namespace pipewright::analysis
