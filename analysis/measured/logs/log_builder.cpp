#include "analysis/measured/logs/log_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {

LoggedTraining& LogBuilder::run() {
  if (log_.runs.empty())
    log_.runs.push_back({line_number, {}, std::exchange(early_memory_, {}), {}});
  return log_.runs.back();
}

LogIteration& LogBuilder::iteration(std::uint64_t number) {
  if (const LogIteration* const previous = last(); previous != nullptr && number < previous->number)
    log_.runs.push_back({line_number, {}, {}, {}});
  LoggedTraining& training = run();
  if (training.iterations.empty() || training.iterations.back().number != number)
    training.iterations.push_back({.number = number, .stamp = time_stamp(line)});
  LogIteration& iteration = training.iterations.back();
  for (const auto& [name, seconds] : std::exchange(stored_timers_, {}))
    iteration.timers[name] = {seconds, seconds, {}};
  if (stored_flops_) iteration.flops_per_gpu = std::exchange(stored_flops_, std::nullopt);
  return iteration;
}

LogIteration* LogBuilder::last() {
  if (log_.runs.empty() || log_.runs.back().iterations.empty()) return nullptr;
  return &log_.runs.back().iterations.back();
}

bool LogBuilder::preceded_last(std::uint64_t number) const {
  if (log_.runs.empty()) return false;
  const auto& iterations = log_.runs.back().iterations;
  return iterations.size() > 1 && iterations[iterations.size() - 2].number == number;
}

std::uint64_t LogBuilder::next_number() { return last() == nullptr ? 1 : last()->number + 1; }

LogMemory& LogBuilder::memory(std::uint32_t rank) {
  return log_.runs.empty() ? early_memory_[rank] : log_.runs.back().memory[rank];
}

void LogBuilder::end_step(std::uint64_t number) {
  ended_steps_.push_back({.number = number, .stamp = time_stamp(line)});
}

void LogBuilder::fail(std::string_view message) const {
  constexpr std::size_t max_length = 120;
  throw trace::TraceError(fmt::format("{}: line {}: {}: '{}'", file_, line_number, message,
                                      printable(std::string(trimmed(line).substr(0, max_length)))));
}

bool LogBuilder::has_iterations() const {
  return std::ranges::any_of(
      log_.runs, [](const LoggedTraining& training) { return !training.iterations.empty(); });
}

void LogBuilder::add_ended_steps() {
  for (const LogIteration& step : ended_steps_) {
    line = {};
    iteration(step.number).stamp = step.stamp;
  }
}

// Adds the iterations of the bar that ran longest, since bars of evaluations and of data are
// shorter than that of the training.
void LogBuilder::add_longest_bar() {
  const auto longest = std::ranges::max_element(bars_, {}, [](const auto& entry) {
    return std::ranges::max(entry.second, {}, &BarState::elapsed_s).elapsed_s;
  });
  if (longest == bars_.end()) return;
  line = {};
  for (const BarState& state : longest->second) iteration(state.count).elapsed_s = state.each_s;
  run().remarks.push_back(
      fmt::format("iteration times are those of the progress bar of {} iterations, which smooths "
                  "them over the last few",
                  longest->first));
}

void LogBuilder::add_means() {
  if (!means.iteration_s && !means.samples_per_s && !means.tokens_per_gpu_s) return;
  line = {};
  LogIteration& mean = iteration(next_number());
  mean.elapsed_s = means.iteration_s;
  mean.samples_per_s = means.samples_per_s;
  mean.tokens_per_gpu_s = means.tokens_per_gpu_s;
  run().remarks.emplace_back(
      "the log gives means over the whole run alone, with its first iterations, evaluations and "
      "checkpoints");
}

TrainingLog LogBuilder::take() {
  end_deepspeed_step(*this);
  if (!has_iterations()) add_longest_bar();
  if (!has_iterations()) add_ended_steps();
  if (!has_iterations()) add_means();
  if (!early_memory_.empty()) run();
  for (LoggedTraining& training : log_.runs) derive_figures(training);
  return std::move(log_);
}

}  // namespace pipewright::analysis
