#include "sim/cli/run/repeats.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analysis/quantile.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::cli {
namespace {

constexpr double low = 0.05;
constexpr double high = 0.95;

}  // namespace

std::string describe(const Repeats& repeats) {
  const auto& times = repeats.makespans;
  return fmt::format("{}, {} seeds: time {} (median), {} to {} (90 %)\n", repeats.name,
                     times.size(), analysis::format_seconds(analysis::quantile(times, 0.5)),
                     analysis::format_seconds(analysis::quantile(times, low)),
                     analysis::format_seconds(analysis::quantile(times, high)));
}

analysis::JsonFields json_fields(const Repeats& repeats) {
  const auto& times = repeats.makespans;
  return {{"repeats", static_cast<double>(times.size())},
          {"makespan_median_s", analysis::quantile(times, 0.5)},
          {"makespan_p05_s", analysis::quantile(times, low)},
          {"makespan_p95_s", analysis::quantile(times, high)}};
}

}  // namespace pipewright::cli
