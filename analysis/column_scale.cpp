#include "analysis/column_scale.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <fmt/format.h>

namespace pipewright::analysis {
namespace {

struct Unit {
  double factor;
  const char* name;
};

// `units` from large to small; `base` is the unit for a column of zeros.
ColumnScale choose(double largest, int digits, std::initializer_list<Unit> units,
                   const char* base) {
  if (!(largest > 0) || !std::isfinite(largest)) return {1, 0, base};
  // A number that rounds up to 1000 belongs to the next unit.
  const double rounding = 1 + 0.5 * std::pow(10.0, -digits);
  const Unit* unit = units.begin();
  while (unit + 1 != units.end() && largest * rounding < unit->factor) ++unit;
  const double shown = largest / unit->factor * rounding;
  const int before_point = static_cast<int>(std::floor(std::log10(shown))) + 1;
  return {unit->factor, std::clamp(digits - before_point, 0, 9), unit->name};
}

}  // namespace

std::string ColumnScale::operator()(double value) const {
  if (value == 0) return "0";
  const std::string text = fmt::format("{:.{}f}", value / factor, decimals);
  const bool only_zeros = text.find_first_not_of("-0.") == std::string::npos;
  return text[0] == '-' && only_zeros ? text.substr(1) : text;
}

std::string ColumnScale::operator()(Range value) const {
  const std::string least = (*this)(value.least);
  const std::string most = (*this)(value.most);
  return least == most ? most : least + ".." + most;
}

ColumnScale time_scale(double largest, int digits) {
  return choose(largest, digits, {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}, "s");
}

ColumnScale memory_scale(double largest) {
  constexpr double kib = 1024;
  constexpr double mib = 1024 * kib;
  constexpr double gib = 1024 * mib;
  constexpr double tib = 1024 * gib;
  ColumnScale scale =
      choose(largest, 3, {{tib, "TiB"}, {gib, "GiB"}, {mib, "MiB"}, {kib, "KiB"}, {1, "B"}}, "B");
  if (scale.factor == 1) scale.decimals = 0;
  return scale;
}

ColumnScale rate_scale(double largest) {
  return choose(largest, 3, {{1e12, "T/s"}, {1e9, "G/s"}, {1e6, "M/s"}, {1e3, "k/s"}, {1, "/s"}},
                "/s");
}

}  // namespace pipewright::analysis
