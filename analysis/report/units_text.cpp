#include "analysis/report/units_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <span>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

struct ScaleUnit {
  double factor;
  const char* name;
};

// Chooses the unit and the decimals for a column whose largest number is given. `units` go from
// large to small; a column of zeros gets the unit `base`.
ColumnScale choose_scale(double largest, int digits, std::initializer_list<ScaleUnit> units,
                         const char* base) {
  if (!(largest > 0) || !std::isfinite(largest)) return {1, 0, base};
  // A number that rounds up to 1000 belongs to the next unit.
  const double rounding = 1 + 0.5 * std::pow(10.0, -digits);
  const ScaleUnit* unit = units.begin();
  while (unit + 1 != units.end() && largest * rounding < unit->factor) ++unit;
  const double shown = largest / unit->factor * rounding;
  const int before_point = static_cast<int>(std::floor(std::log10(shown))) + 1;
  return {unit->factor, std::clamp(digits - before_point, 0, 9), unit->name};
}

struct UnitScale {
  double factor;
  const char* unit;
  int digits;  // significant ones
};

// Returns the number of decimals with which `value` has `digits` significant digits, at least 0.
int decimals(double value, int digits) {
  if (value == 0) return 0;
  return std::max(0, digits - 1 - static_cast<int>(std::floor(std::log10(value))));
}

double rounded(double value, int digits) {
  const double power = std::pow(10.0, decimals(value, digits));
  return std::round(value * power) / power;
}

// Picks the smallest unit in which the rounded value is below 1000: 0.99999 s becomes 1.000 s, not
// 1000 ms.
const UnitScale& pick_scale(double magnitude, std::span<const UnitScale> scales) {
  for (const UnitScale& scale : scales)
    if (rounded(magnitude / scale.factor, scale.digits) < 1000) return scale;
  return scales.back();
}

}  // namespace

std::string ColumnScale::operator()(double value) const {
  if (value == 0) return "0";
  const std::string text = fmt::format("{:.{}f}", value / factor, decimals);
  const bool only_zeros = text.find_first_not_of("-0.") == std::string::npos;
  return text[0] == '-' && only_zeros ? text.substr(1) : text;
}

std::string ColumnScale::operator()(Range value) const {
  const std::string low = (*this)(value.least);
  const std::string high = (*this)(value.most);
  return low == high ? high : low + ".." + high;
}

ColumnScale time_scale(double largest, int digits) {
  return choose_scale(largest, digits, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}, "s");
}

ColumnScale memory_scale(double largest) {
  constexpr double kib = 1024;
  constexpr double mib = 1024 * kib;
  constexpr double gib = 1024 * mib;
  constexpr double tib = 1024 * gib;
  ColumnScale scale = choose_scale(
      largest, 3, {{tib, "TiB"}, {gib, "GiB"}, {mib, "MiB"}, {kib, "KiB"}, {1, "B"}}, "B");
  if (scale.factor == 1) scale.decimals = 0;
  return scale;
}

ColumnScale rate_scale(double largest) {
  return choose_scale(largest, 3,
                      {{1e12, "T/s"}, {1e9, "G/s"}, {1e6, "M/s"}, {1e3, "k/s"}, {1, "/s"}}, "/s");
}

std::string format_seconds(double s) {
  static constexpr std::array<UnitScale, 4> scales{
      {{1e-9, "ns", 3}, {1e-6, "us", 3}, {1e-3, "ms", 4}, {1, "s", 4}}};
  if (s == 0) return "0 s";
  if (!std::isfinite(s)) return fmt::format("{} s", s);
  const UnitScale& scale = pick_scale(std::abs(s), scales);
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

std::string format_rate(double per_s, std::string_view noun) {
  static constexpr std::array<UnitScale, 5> scales{
      {{1, "", 3}, {1e3, "k ", 3}, {1e6, "M ", 3}, {1e9, "G ", 3}, {1e12, "T ", 3}}};
  if (per_s == 0 || !std::isfinite(per_s)) return fmt::format("{} {}/s", per_s, noun);
  const UnitScale& scale = pick_scale(std::abs(per_s), scales);
  const double value = per_s / scale.factor;
  const double shown = rounded(std::abs(value), scale.digits);
  std::string number = fmt::format("{:.{}f}", value, decimals(shown, scale.digits));
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return fmt::format("{} {}{}/s", number, scale.unit, noun);
}

std::string format_scaled(double value) {
  std::string text = format_rate(value, "");
  text.resize(text.size() - 2);
  if (text.back() == ' ') text.pop_back();
  if (text.back() == 'G') text.back() = 'B';  // the usual letter for tokens, parameters and money
  return text;
}

std::string format_exact_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  const char* const plural = noun.ends_with("ch") || noun.ends_with("ss") ? "es" : "s";
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

}  // namespace pipewright::analysis
