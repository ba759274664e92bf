#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pipewright::analysis {

// One timer, seconds in an iteration: over all ranks, or of each rank.
struct LogTimer {
  double least_s = 0;
  double most_s = 0;
  std::map<std::uint32_t, double> of_rank;
};

// What a log says of an iteration; what it does not say is empty.
struct LogIteration {
  std::uint64_t number = 0;
  std::optional<double> elapsed_s;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_gpu_s;
  std::optional<double> flops_per_gpu;     // FLOP/s
  std::map<std::string, LogTimer> timers;  // "forward-compute"
};

// Bytes of PyTorch's allocator on a rank.
struct LogMemory {
  std::optional<double> allocated;  // between iterations
  std::optional<double> peak_allocated;
  std::optional<double> peak_reserved;
};

// One start of a training program.
struct LoggedTraining {
  std::uint64_t line = 0;  // where its first iteration stands
  std::vector<LogIteration> iterations;
  std::map<std::uint32_t, LogMemory> memory;  // by rank
};

// A log may hold several runs one after another: their iterations count from below again.
struct TrainingLog {
  std::vector<LoggedTraining> runs;
};

}  // namespace pipewright::analysis
