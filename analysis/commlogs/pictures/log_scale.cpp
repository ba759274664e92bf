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

constexpr double rounding = 1e-9;  // of what is on the axis by a hair

// The unit that leaves 1 to 999 of a value; `least` is that of units[0].
std::string in_unit(double value, double least, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && value / least >= 1000 * (1 - rounding); ++unit) least *= 1000;
  return fmt::format("{:.4g} {}", value / least, units[unit]);
}

std::vector<LogTick> decimal_ticks(const LogScale& scale, double least,
                                   std::span<const std::string_view> units) {
  const double decades = std::log10(scale.to / scale.from);
  std::vector<LogTick> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(scale.from)));
       std::pow(10, power) <= scale.to * (1 + rounding); ++power)
    for (const double digit : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0}) {
      const bool is_coarse = digit == 1 || digit == 2 || digit == 5;
      if (!is_coarse && decades > 1) continue;
      const double value = digit * std::pow(10, power);
      if (value < scale.from * (1 - rounding) || value > scale.to * (1 + rounding)) continue;
      const bool labelled = digit == 1 || decades <= 3;
      ticks.push_back({value, labelled ? in_unit(value, least, units) : ""});
    }
  return ticks;
}

}  // namespace

std::vector<LogTick> size_ticks(const LogScale& scale, int most) {
  const int first = static_cast<int>(std::ceil(std::log2(scale.from) - rounding));
  const int last = static_cast<int>(std::floor(std::log2(scale.to) + rounding));
  const int step = std::max(1, (last - first + most) / most);
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
