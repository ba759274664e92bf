#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

#include "analysis/report/summary.hpp"
#include "sim/config/scenario.hpp"

namespace pipewright::evaluation {

// Numbers of microbatches of short runs from which a run with more microbatches follows. Successive
// runs differ by one period of the schedule, after which its order of passes repeats.
struct ShortRuns {
  static constexpr std::size_t count = 4;
  std::uint32_t period = 0;
  std::array<std::uint32_t, count> microbatches{};
};

// Number of periods of the shortest runs that are tried.
inline constexpr std::uint32_t least_periods = 6;

// Returns short runs for one schedule of a scenario, each with at least `periods` periods; nothing
// if the scenario itself is as short.
std::optional<ShortRuns> short_runs(const config::Scenario& scenario,
                                    const config::ScheduleSpec& spec, std::uint32_t periods);

// Extrapolates short runs to more microbatches: each period adds the same times. Returns nothing
// unless all figures of the short runs grow linearly and peaks of memory do not grow, as they do
// once the schedule repeats. The moments of memory peaks are those of the last short run.
std::optional<analysis::Summary> extrapolate(const ShortRuns& runs,
                                             const std::array<analysis::Summary, ShortRuns::count>&,
                                             std::uint32_t microbatches);

// Simulates one schedule of a scenario by short runs, which `simulate` does for a number of
// microbatches. Throws config::Error if the schedule does not repeat.
analysis::Summary steady_run(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                             const std::function<analysis::Summary(std::uint32_t)>& simulate);

}  // namespace pipewright::evaluation
