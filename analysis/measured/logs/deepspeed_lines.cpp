#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// Parsers for log lines of DeepSpeed (deepspeed/utils/timer.py, deepspeed/runtime/pipe/engine.py).
namespace pipewright::analysis {
namespace {

constexpr double deepspeed_millisecond = 1e-3;

// Timers that DeepSpeed prints for each iteration if wall_clock_breakdown is set. Without a
// pipeline, their sum is the time of the iteration.
constexpr std::array step_timers{"fwd", "bwd", "step"};

bool has_step_timers(const LogBuilder& log) {
  for (const char* const part : step_timers)
    if (!log.has_timer(part)) return false;
  return true;
}

// Reads "time (ms) | fwd: 6567.66 | bwd: 17950.35 | step: 1139.29", which follows the timers of
// microsteps.
bool take_deepspeed_timers(std::string_view line, LogBuilder& log) {
  std::string_view rest = after(line, "time (ms) |");
  if (rest.data() == nullptr) return false;
  if (contains(rest, " fwd:")) end_deepspeed_step(log);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t colon = part.find(':');
    const auto ms = number_after(part, ":");
    // Skips timers of microsteps, since they cover only the last microstep of the iteration.
    if (!ms || contains(part, "_microstep")) continue;
    log.store_timer(std::string(trimmed(part.substr(0, colon))), *ms * deepspeed_millisecond);
  }
  return true;
}

// Reads a line of the pipeline engine: "steps: 10 loss: 5.5 iter time (s): 0.936 samples/sec:
// 136.706".
bool take_deepspeed_step(std::string_view line, LogBuilder& log) {
  const auto seconds = number_after(line, "iter time (s):");
  std::string_view rest = after(line, contains(line, "steps:") ? "steps:" : "step:");
  const auto number = take_number<std::uint64_t>(rest);
  if (!seconds || !number) return false;
  LogIteration& iteration = log.iteration(*number);
  iteration.elapsed_s = *seconds;
  iteration.samples_per_s = number_after(line, "samples/sec:");
  return true;
}

// Returns the number of the step in "epoch=0/micro_step=40/global_step=10, .." or "0/10, ..".
std::optional<std::uint64_t> throughput_step(std::string_view line, std::string_view rate) {
  std::string_view head = line.substr(0, line.find(rate));
  head = head.substr(0, head.rfind(','));
  head.remove_prefix(std::min(head.rfind('/') + 1, head.size()));
  if (head.starts_with("global_step=")) head.remove_prefix(head.find('=') + 1);
  return take_number<std::uint64_t>(head);
}

// Reads "epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.02,
// CurrSamplesPerSec=25.7, MemAllocated=4.32GB, MaxMemAllocated=38.49GB". Before version 0.7, such
// lines had SamplesPerSec alone, a mean over the run.
bool take_deepspeed_throughput(std::string_view line, LogBuilder& log) {
  const auto current = value_of(line, "CurrSamplesPerSec");
  const auto mean = value_of_any(line, {"RunningAvgSamplesPerSec", "SamplesPerSec"});
  if (!current && !mean) return false;
  const auto number = throughput_step(line, mean ? "SamplesPerSec" : "CurrSamplesPerSec");
  if (!number) return false;
  LogIteration& iteration = log.iteration(*number);
  iteration.samples_per_s = current;
  iteration.mean_samples_per_s = mean;
  constexpr double gigabyte = 1024.0 * 1024 * 1024;
  LogMemory& memory = log.memory(0);
  if (const auto allocated = value_of(line, "MemAllocated"))
    memory.allocated = *allocated * gigabyte;
  if (const auto peak = value_of(line, "MaxMemAllocated")) memory.peak_allocated = *peak * gigabyte;
  return true;
}

// Reads "[Rank 0] step=10, skipped=0, lr=[0.0003], mom=[(0.9, 0.95)]", whose time stamp gives the
// time if no other line does.
bool take_deepspeed_end(std::string_view line, LogBuilder& log) {
  if (!contains(line, "skipped=")) return false;
  const auto number = value_of(line, "step");
  if (number && *number < 1e15) log.end_step(static_cast<std::uint64_t>(*number));
  return number.has_value();
}

}  // namespace

void end_deepspeed_step(LogBuilder& log) {
  if (!has_step_timers(log)) return;
  const double sum = log.stored_timer("fwd") + log.stored_timer("bwd") + log.stored_timer("step");
  log.iteration(log.next_number()).elapsed_s = sum;
}

bool take_deepspeed_line(std::string_view line, LogBuilder& log) {
  return take_deepspeed_timers(line, log) || take_deepspeed_step(line, log) ||
         take_deepspeed_throughput(line, log) || take_deepspeed_end(line, log);
}

}  // namespace pipewright::analysis
