#include "analysis/timeline/labels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pipewright::analysis {
namespace {

constexpr double largest = 10.5;
constexpr double smallest = 6.5;
constexpr double share_of_height = 0.62;
constexpr double share_of_half = 0.8;   // less room around it, so that it can be read at all
constexpr double digit_width = 0.6363;  // of DejaVu Sans, all digits alike; in sizes of the font
constexpr double share_that_fits =
    0.9;  // of a kind's passes, so that a few short ones do not count

double width(std::uint32_t number) {
  int digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits * digit_width;
}

}  // namespace

bool LabelStyle::any() const {
  return std::any_of(kinds.begin(), kinds.end(), [](bool kind) { return kind; });
}

bool label_fits(std::uint32_t microbatch, double size, double box_width) {
  return width(microbatch) * size + 1 <= box_width;
}

LabelStyle label_style(const trace::Trace& run, double units_per_s, double box_height) {
  const double fitting_height = std::min(largest, box_height * share_of_height);
  if (fitting_height < smallest) return {};

  std::array<std::vector<double>, trace::pass_kinds> sizes;  // at which each label fits
  for (const trace::PassRow& pass : run.passes)
    sizes[static_cast<std::size_t>(pass.kind)].push_back(
        ((pass.end - pass.start) * units_per_s - 1) / width(pass.microbatch));

  LabelStyle style{fitting_height, 0, {}};
  for (std::size_t kind = 0; kind < sizes.size(); ++kind) {
    std::vector<double>& of_kind = sizes[kind];
    if (of_kind.empty()) continue;
    const auto at = static_cast<std::ptrdiff_t>(
        std::floor((1 - share_that_fits) * static_cast<double>(of_kind.size())));
    std::nth_element(of_kind.begin(), of_kind.begin() + at, of_kind.end());
    const double fitting = of_kind[static_cast<std::size_t>(at)];
    if (fitting < smallest) continue;
    style.kinds[kind] = true;
    style.size = std::min(style.size, fitting);
  }
  const double half = std::min(style.size, box_height / 2 * share_of_half);
  if (half >= smallest) style.half_size = half;
  return style;
}

}  // namespace pipewright::analysis
