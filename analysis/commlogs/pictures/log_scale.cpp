#include "analysis/commlogs/pictures/log_scale.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr double tick_tolerance = 1e-9;  // Relative tolerance for ticks at the ends of the axis.

// Formats a value in the unit that makes the number 1 to 999. `units` are steps of 1000, and
// `smallest_unit` is the value of units[0].
std::string in_unit(double value, double smallest_unit, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && value / smallest_unit >= 1000 * (1 - tick_tolerance); ++unit)
    smallest_unit *= 1000;
  return fmt::format("{:.4g} {}", value / smallest_unit, units[unit]);
}

std::vector<LogTick> decimal_ticks(const LogScale& scale, double smallest_unit,
                                   std::span<const std::string_view> units) {
  const double decades = std::log10(scale.to / scale.from);
  std::vector<LogTick> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(scale.from)));
       std::pow(10, power) <= scale.to * (1 + tick_tolerance); ++power)
    for (const double digit : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0}) {
      const bool is_coarse = digit == 1 || digit == 2 || digit == 5;
      if (!is_coarse && decades > 1) continue;
      const double value = digit * std::pow(10, power);
      if (value < scale.from * (1 - tick_tolerance) || value > scale.to * (1 + tick_tolerance))
        continue;
      const bool has_label = digit == 1 || decades <= 3;
      ticks.push_back({value, has_label ? in_unit(value, smallest_unit, units) : ""});
    }
  return ticks;
}

}  // namespace

std::vector<LogTick> size_ticks(const LogScale& scale, int max_labels) {
  const int first = static_cast<int>(std::ceil(std::log2(scale.from) - tick_tolerance));
  const int last = static_cast<int>(std::floor(std::log2(scale.to) + tick_tolerance));
  const int step = std::max(1, (last - first + max_labels) / max_labels);
  std::vector<LogTick> ticks;
  for (int power = std::max(0, first); power <= last; ++power)
    if (power % step == 0)
      ticks.push_back({std::exp2(power), format_exact_bytes(std::uint64_t{1} << power)});
  return ticks;
}

std::vector<LogTick> second_ticks(const LogScale& scale) {
  static constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
  return decimal_ticks(scale, 1e-9, units);
}

std::vector<LogTick> bandwidth_ticks(const LogScale& scale) {
  static constexpr std::array<std::string_view, 5> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return decimal_ticks(scale, 1, units);
}

}  // namespace pipewright::analysis
