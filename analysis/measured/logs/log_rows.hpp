#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/logs/log_text.hpp"

namespace pipewright::analysis {

// A timer of an iteration in seconds: smallest and largest value over all ranks, or values of each
// rank.
struct LogTimer {
  double least_s = 0;
  double most_s = 0;
  std::map<std::uint32_t, double> of_rank;
};

// Figures of an iteration, or their means over the iterations since the line before; those that the
// log does not give have no value.
struct LogIteration {
  std::uint64_t number = 0;
  std::optional<double> elapsed_s;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_gpu_s;
  std::optional<double> flops_per_gpu;     // FLOP/s.
  std::optional<double> batch_samples;     // Samples of the iteration, of all GPUs.
  std::optional<double> consumed_samples;  // Samples of the run so far.
  std::map<std::string, LogTimer> timers;  // "forward-compute"
  std::optional<TimeStamp> stamp;          // Of the line.
  // Means over the run so far, which some programs print.
  std::optional<double> mean_elapsed_s;
  std::optional<double> mean_samples_per_s;
};

// Bytes of one rank's GPU memory, as PyTorch's allocator reports them.
struct LogMemory {
  std::optional<double> allocated;  // Allocated between iterations.
  std::optional<double> peak_allocated;
  std::optional<double> peak_reserved;
};

// Iterations and memory of one run of a training program, from its start to its end.
struct LoggedTraining {
  std::uint64_t line = 0;  // Line of the first iteration.
  std::vector<LogIteration> iterations;
  std::map<std::uint32_t, LogMemory> memory;  // By rank.
  // Sentences that say how figures follow from others, which the log gives.
  std::vector<std::string> remarks;
};

// A log may hold several runs in sequence; a falling iteration number starts a new run.
struct TrainingLog {
  std::vector<LoggedTraining> runs;
};

}  // namespace pipewright::analysis
