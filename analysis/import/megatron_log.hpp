#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/import/input_file.hpp"

namespace pipewright::analysis {

// One timer of Megatron-LM's, seconds in an iteration: over all ranks (--timing-log-option minmax
// or max), or of each rank (all).
struct MegatronTimer {
  double least_s = 0;
  double most_s = 0;
  std::map<std::uint32_t, double> of_rank;
};

struct MegatronIteration {
  std::uint64_t number = 0;
  double elapsed_s = 0;
  std::map<std::string, MegatronTimer> timers;  // "forward-compute"; those reported beside it
};

// What the log of a training run says of its iterations.
struct MegatronLog {
  std::vector<MegatronIteration> iterations;
};

// Reads lines such as
//   " iteration 20/ 100 | ... | elapsed time per iteration (ms): 1234.5 | ..."
// and the blocks "(min, max) time across ranks (ms):", "max time across ranks (ms):" and "times
// across ranks (ms):", whatever a launcher puts before them. Throws trace::TraceError.
MegatronLog read_megatron_log(const std::filesystem::path& file, const ReadProgress& progress = {});

}  // namespace pipewright::analysis
