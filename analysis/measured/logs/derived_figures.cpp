// Figures of iterations that no line of a log gives, but that follow from other figures.
#include <algorithm>
#include <optional>
#include <vector>

#include "analysis/measured/logs/log_builder.hpp"

namespace pipewright::analysis {
namespace {

using Figure = std::optional<double> LogIteration::*;

bool have(const std::vector<LogIteration>& iterations, Figure figure) {
  return std::ranges::any_of(
      iterations, [&](const LogIteration& iteration) { return (iteration.*figure).has_value(); });
}

// Computes figures of single lines from means over the run so far. `total_of` returns the sum over
// the run so far that a mean stands for, as seconds or as a multiple of them, and `figure_of` the
// figure from the differences of the numbers of iterations and of these sums. The first line keeps
// its mean.
void derive_from_means(std::vector<LogIteration>& iterations, Figure mean, Figure figure,
                       const auto& total_of, const auto& figure_of) {
  std::optional<double> total;
  std::uint64_t number = 0;
  for (LogIteration& iteration : iterations) {
    if (!(iteration.*mean)) continue;
    const double sum = total_of(iteration.number, *(iteration.*mean));
    iteration.*figure = iteration.*mean;
    if (total && sum > *total)
      iteration.*figure = figure_of(static_cast<double>(iteration.number - number), sum - *total);
    total = sum;
    number = iteration.number;
  }
}

// Number of first iterations that the running averages of DeepSpeed leave out (start_step of
// ThroughputTimer, deepspeed/utils/timer.py).
constexpr std::uint64_t deepspeed_start_step = 2;

void derive_from_stamps(LoggedTraining& run) {
  // Whole seconds are exact enough only for longer intervals.
  constexpr double shortest_interval = 20;
  const LogIteration* previous = nullptr;
  bool is_any = false;
  for (LogIteration& iteration : run.iterations) {
    if (!iteration.stamp) continue;
    if (previous != nullptr && iteration.number > previous->number) {
      const double seconds = iteration.stamp->seconds - previous->stamp->seconds;
      if (seconds > 0 && (iteration.stamp->has_fraction || seconds >= shortest_interval)) {
        iteration.elapsed_s = seconds / static_cast<double>(iteration.number - previous->number);
        is_any = true;
      }
    }
    previous = &iteration;
  }
  if (is_any)
    run.remarks.emplace_back(
        "iteration times are the differences of the time stamps of lines, since no line gives a "
        "time");
}

void derive_batches(std::vector<LogIteration>& iterations) {
  const LogIteration* previous = nullptr;
  for (LogIteration& iteration : iterations) {
    if (!iteration.consumed_samples) continue;
    if (previous != nullptr && iteration.number > previous->number && !iteration.batch_samples)
      iteration.batch_samples = (*iteration.consumed_samples - *previous->consumed_samples) /
                                static_cast<double>(iteration.number - previous->number);
    previous = &iteration;
  }
}

}  // namespace

void derive_figures(LoggedTraining& run) {
  std::vector<LogIteration>& iterations = run.iterations;
  if (!have(iterations, &LogIteration::elapsed_s))
    derive_from_means(
        iterations, &LogIteration::mean_elapsed_s, &LogIteration::elapsed_s,
        [](std::uint64_t number, double mean) { return static_cast<double>(number) * mean; },
        [](double count, double seconds) { return seconds / count; });
  if (!have(iterations, &LogIteration::samples_per_s))
    derive_from_means(
        iterations, &LogIteration::mean_samples_per_s, &LogIteration::samples_per_s,
        [](std::uint64_t number, double mean) {
          return static_cast<double>(number - std::min(number, deepspeed_start_step)) / mean;
        },
        [](double count, double seconds) { return count / seconds; });
  if (!have(iterations, &LogIteration::elapsed_s)) derive_from_stamps(run);
  derive_batches(iterations);
}

}  // namespace pipewright::analysis
