#include "analysis/commlogs/pictures/colour_scale.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

constexpr double same = 1.001;         // times as much
constexpr std::size_t most_steps = 8;  // of a bar
constexpr TextStyle label_style{.size = 9, .align = Align::centre};

}  // namespace

std::string short_number(double value) {
  return std::abs(value) < 999.5 ? fmt::format("{:.3g}", value) : fmt::format("{:.0f}", value);
}

ColourScale::ColourScale(const ColourRamp& ramp, std::vector<double> values)
    : ramp_(ramp), values_(std::move(values)) {
  if (values_.empty()) throw std::logic_error("a colour scale of no values");
  std::ranges::sort(values_);
  const auto equal = std::ranges::unique(values_, [](double a, double b) { return b < a * same; });
  values_.erase(equal.begin(), equal.end());
}

std::uint32_t ColourScale::number_of(double value) const {
  const auto above = std::ranges::upper_bound(values_, value);
  return static_cast<std::uint32_t>(std::max<std::ptrdiff_t>(above - values_.begin(), 1) - 1);
}

bool ColourScale::is_stepped() const { return values_.size() <= most_steps; }

double ColourScale::place(double value) const {
  if (values_.size() == 1) return 0.5;
  if (is_stepped()) return number_of(value) / static_cast<double>(values_.size() - 1);
  return std::log(value / values_.front()) / std::log(values_.back() / values_.front());
}

Colour ColourScale::at(double place) const {
  const double along = std::clamp(place, 0.0, 1.0) * static_cast<double>(ramp_.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(along), ramp_.size() - 2);
  return mix(ramp_[below], ramp_[below + 1], along - static_cast<double>(below));
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
    canvas.text(left + width / 2, bar.bottom + 12, short_number(values_[i] * unit), label_style);
  }
}

void ColourScale::draw_gradient(Canvas& canvas, const Area& bar, double unit) const {
  constexpr int steps = 96;
  const double width = bar.right - bar.left;
  for (int i = 0; i < steps; ++i) {
    const double left = bar.left + width * i / steps;
    // Each reaches below the next, which leaves no seam.
    canvas.rectangle(left, bar.top, i + 1 < steps ? left + 2 * width / steps : bar.right,
                     bar.bottom);
    canvas.fill(at((i + 0.5) / steps));
  }
  // Both ends, and 1, 2 and 5 times powers of ten between them.
  std::vector<double> ticks{values_.front(), values_.back()};
  for (double power = std::pow(10, std::floor(std::log10(values_.front()))); power < values_.back();
       power *= 10)
    for (const double times : {1.0, 2.0, 5.0}) ticks.push_back(power * times);
  std::vector<std::pair<double, double>> taken;  // from left to right
  for (const double tick : ticks) {
    if (tick < values_.front() || tick > values_.back()) continue;
    const double x = bar.left + place(tick) * width;
    const std::string label = short_number(tick * unit);
    const double half = canvas.text_width(label, label_style) / 2 + 4;
    if (std::ranges::any_of(
            taken, [&](auto& one) { return x - half < one.second && one.first < x + half; }))
      continue;
    taken.emplace_back(x - half, x + half);
    canvas.line(x, bar.bottom, x, bar.bottom + 3, ink, 0.7);
    canvas.text(x, bar.bottom + 13, label, label_style);
  }
}

}  // namespace pipewright::analysis
