#include "analysis/units_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

struct Scale {
  double factor;
  const char* unit;
  int digits;  // significant ones
};

// Decimals that show `value` with `digits` significant digits, and never cut the integer part.
int decimals(double value, int digits) {
  if (value == 0) return 0;
  return std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(value))));
}

double rounded(double value, int digits) {
  const double power = std::pow(10.0, decimals(value, digits));
  return std::round(value * power) / power;
}

// The smallest scale in which the rounded value stays below 1000: 0.99999 s is 1.000 s, and not
// 1000 ms.
const Scale& pick(double magnitude, std::span<const Scale> scales) {
  for (const Scale& scale : scales)
    if (rounded(magnitude / scale.factor, scale.digits) < 1000) return scale;
  return scales.back();
}

}  // namespace

std::string format_seconds(double s) {
  static constexpr std::array<Scale, 4> scales{
      {{1e-9, "ns", 3}, {1e-6, "us", 3}, {1e-3, "ms", 4}, {1, "s", 4}}};
  if (s == 0) return "0 s";
  if (!std::isfinite(s)) return fmt::format("{} s", s);
  const Scale& scale = pick(std::abs(s), scales);
  const double value = s / scale.factor;
  const double shown = rounded(std::abs(value), scale.digits);
  return fmt::format("{:.{}f} {}", value, decimals(shown, scale.digits), scale.unit);
}

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  static constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1023.95; ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_percent(double ratio) {
  const double tenths = std::round(ratio * 1000);
  return fmt::format("{:.1f} %", tenths == 0 ? 0.0 : tenths / 10);  // never "-0.0 %"
}

std::string format_rate(double per_s, std::string_view what) {
  static constexpr std::array<Scale, 5> scales{
      {{1, "", 3}, {1e3, "k ", 3}, {1e6, "M ", 3}, {1e9, "G ", 3}, {1e12, "T ", 3}}};
  if (per_s == 0 || !std::isfinite(per_s)) return fmt::format("{} {}/s", per_s, what);
  const Scale& scale = pick(std::abs(per_s), scales);
  const double value = per_s / scale.factor;
  const double shown = rounded(std::abs(value), scale.digits);
  std::string number = fmt::format("{:.{}f}", value, decimals(shown, scale.digits));
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return fmt::format("{} {}{}/s", number, scale.unit, what);
}

std::string format_exact_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

}  // namespace pipewright::analysis
