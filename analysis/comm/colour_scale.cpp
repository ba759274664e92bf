#include "analysis/comm/colour_scale.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

constexpr double same = 1.001;           // times more or less
constexpr std::size_t most_values = 12;  // each of which has a tick

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

double ColourScale::along(double value) const {
  if (values_.size() == 1) return 0.5;
  const double low = std::log(values_.front());
  return std::clamp((std::log(value) - low) / (std::log(values_.back()) - low), 0.0, 1.0);
}

Colour ColourScale::operator()(double value) const {
  const double place = along(value) * static_cast<double>(ramp_.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), ramp_.size() - 2);
  return mix(ramp_[below], ramp_[below + 1], place - static_cast<double>(below));
}

// The values themselves, or, of many, 1, 2 and 5 times powers of ten.
std::vector<double> ColourScale::ticks() const {
  if (values_.size() <= most_values) return values_;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(values_.front())));
       power <= values_.back(); power *= 10)
    for (const double times : {1.0, 2.0, 5.0})
      if (const double tick = power * times; tick >= values_.front() && tick <= values_.back())
        ticks.push_back(tick);
  return ticks.size() < 2 ? std::vector{values_.front(), values_.back()} : ticks;
}

void ColourScale::draw(Canvas& canvas, const Area& bar, double unit) const {
  constexpr int steps = 96;
  const double width = bar.right - bar.left;
  const double least = values_.front();
  const double span = values_.back() / least;
  for (int i = 0; i < steps; ++i) {
    const double left = bar.left + width * i / steps;
    // Each reaches below the next, which leaves no seam.
    canvas.rectangle(left, bar.top, i + 1 < steps ? left + 2 * width / steps : bar.right,
                     bar.bottom);
    canvas.fill((*this)(least * std::pow(span, (i + 0.5) / steps)));
  }
  constexpr TextStyle style{.size = 9, .align = Align::centre};
  double end = bar.left - 100;  // of the label before
  for (const double tick : ticks()) {
    const double x = bar.left + along(tick) * width;
    canvas.line(x, bar.bottom, x, bar.bottom + 3, ink, 0.7);
    const std::string label = short_number(tick * unit);
    const double half = canvas.text_width(label, style) / 2;
    if (x - half < end + 6) continue;
    canvas.text(x, bar.bottom + 13, label, style);
    end = x + half;
  }
}

}  // namespace pipewright::analysis
