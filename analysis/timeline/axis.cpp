#include "analysis/timeline/axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace pipewright::analysis {

double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

TimeTicks time_ticks(double span_s, int most) {
  struct Unit {
    const char* name;
    double per_s;
  };
  static constexpr std::array<Unit, 4> units{{{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}}};
  const auto* unit = units.begin();
  while (span_s * unit->per_s < 1 && std::next(unit) != units.end()) ++unit;

  const double span = span_s * unit->per_s;
  const double step = round_step(span / most);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  TimeTicks found{{}, unit->name};
  for (int i = 0; i * step <= span * (1 + 1e-9); ++i)
    found.ticks.push_back({i * step / unit->per_s, fmt::format("{:.{}f}", i * step, decimals)});
  return found;
}

}  // namespace pipewright::analysis
