#pragma once

#include <cstddef>
#include <cstdint>

namespace pipewright::worker {

// Number of the processes that evaluate candidates, and the limits of each simulation.
struct WorkerSettings {
  std::size_t jobs = 1;            // processes on this machine
  double time_limit_s = 0;         // limit of one simulation; 0 means none
  std::uint64_t memory_bytes = 0;  // limit of one simulation; 0 means none
};

}  // namespace pipewright::worker
