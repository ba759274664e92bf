#include "sim/cli/repeats.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/units_text.hpp"

namespace pipewright::cli {
namespace {

constexpr double low = 0.05;
constexpr double high = 0.95;

}  // namespace

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  const double place = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

std::string describe(const Repeats& repeats) {
  const auto& times = repeats.makespans;
  return fmt::format("{}, {} seeds: time {} (median), {} to {} (90 %)\n", repeats.name,
                     times.size(), analysis::format_seconds(quantile(times, 0.5)),
                     analysis::format_seconds(quantile(times, low)),
                     analysis::format_seconds(quantile(times, high)));
}

analysis::JsonFields json_fields(const Repeats& repeats) {
  const auto& times = repeats.makespans;
  return {{"repeats", static_cast<double>(times.size())},
          {"makespan_median_s", quantile(times, 0.5)},
          {"makespan_p05_s", quantile(times, low)},
          {"makespan_p95_s", quantile(times, high)}};
}

}  // namespace pipewright::cli
