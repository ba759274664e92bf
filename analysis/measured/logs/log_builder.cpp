#include "analysis/measured/logs/log_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/logs/log_text.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {

LoggedTraining& LogBuilder::run() {
  if (log_.runs.empty()) log_.runs.push_back({line_number, {}, std::exchange(early_memory_, {})});
  return log_.runs.back();
}

LogIteration& LogBuilder::iteration(std::uint64_t number) {
  if (const LogIteration* const previous = last(); previous != nullptr && number < previous->number)
    log_.runs.push_back({line_number, {}, {}});
  LoggedTraining& training = run();
  if (training.iterations.empty() || training.iterations.back().number != number)
    training.iterations.push_back({.number = number});
  LogIteration& iteration = training.iterations.back();
  for (const auto& [name, seconds] : std::exchange(stored_timers_, {}))
    iteration.timers[name] = {seconds, seconds, {}};
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

void LogBuilder::fail(std::string_view message, std::string_view line) const {
  constexpr std::size_t max_length = 120;
  throw trace::TraceError(fmt::format("{}: {}: '{}'", source_.place(), message,
                                      printable(std::string(trimmed(line).substr(0, max_length)))));
}

TrainingLog LogBuilder::take() {
  if (!early_memory_.empty()) run();
  return std::move(log_);
}

}  // namespace pipewright::analysis
