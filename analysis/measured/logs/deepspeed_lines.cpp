#include <array>
#include <string>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// DeepSpeed's lines (deepspeed/utils/timer.py, deepspeed/runtime/pipe/engine.py).
namespace pipewright::analysis {
namespace {

constexpr double millisecond = 1e-3;

// An iteration's parts with wall_clock_breakdown, which are all of it without a pipeline.
constexpr std::array parts{"fwd", "bwd", "step"};

bool has_parts(const LogBuilder& log) {
  for (const char* const part : parts)
    if (!log.has_kept(part)) return false;
  return true;
}

// "time (ms) | fwd: 6567.66 | bwd: 17950.35 | step: 1139.29", behind those of microsteps.
bool take_timers(std::string_view line, LogBuilder& log) {
  std::string_view rest = after(line, "time (ms) |");
  if (rest.data() == nullptr) return false;
  if (contains(rest, " fwd:")) end_deepspeed_step(log);
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t colon = part.find(':');
    const auto ms = number_after(part, ":");
    // Timers of microsteps are of the last one only.
    if (!ms || contains(part, "_microstep")) continue;
    log.keep(std::string(trimmed(part.substr(0, colon))), *ms * millisecond);
  }
  return true;
}

// "steps: 10 loss: 5.5 iter time (s): 0.936 samples/sec: 136.706" of the pipeline engine.
bool take_step(std::string_view line, LogBuilder& log) {
  const auto seconds = number_after(line, "iter time (s):");
  std::string_view rest = after(line, contains(line, "steps:") ? "steps:" : "step:");
  const auto number = take_number<std::uint64_t>(rest);
  if (!seconds || !number) return false;
  LogIteration& iteration = log.iteration(*number);
  iteration.elapsed_s = *seconds;
  iteration.samples_per_s = number_after(line, "samples/sec:");
  return true;
}

// "epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.02, CurrSamplesPerSec=25.7,
// MemAllocated=4.32GB, MaxMemAllocated=38.49GB"
bool take_throughput(std::string_view line, LogBuilder& log) {
  const auto rate = number_after(line, "CurrSamplesPerSec=");
  if (!rate) return false;
  std::string_view rest = after(line, "global_step=");
  if (rest.data() == nullptr) rest = after(line, "/");
  const auto number = take_number<std::uint64_t>(rest);
  if (!number) return false;
  log.iteration(*number).samples_per_s = rate;
  constexpr double gigabyte = 1024.0 * 1024 * 1024;
  LogMemory& memory = log.memory(0);
  if (const auto held = number_after(line, " MemAllocated=")) memory.allocated = *held * gigabyte;
  if (const auto most = number_after(line, "MaxMemAllocated="))
    memory.peak_allocated = *most * gigabyte;
  return true;
}

}  // namespace

void end_deepspeed_step(LogBuilder& log) {
  if (!has_parts(log)) return;
  const double sum = log.kept("fwd") + log.kept("bwd") + log.kept("step");
  log.iteration(log.next_number()).elapsed_s = sum;
}

bool take_deepspeed_line(std::string_view line, LogBuilder& log) {
  return take_timers(line, log) || take_step(line, log) || take_throughput(line, log);
}

}  // namespace pipewright::analysis
