#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Bytes that a GPU's allocator had allocated after one of its actions.
struct AllocatedAt {
  // Time since the first recorded action, or the number of the action if there are no times.
  double time_s = 0;
  double bytes = 0;
};

// Memory of the GPU of a process, in bytes, from torch.cuda.memory._dump_snapshot. Blocks have the
// sizes of the allocator, which rounds to 512 bytes.
//
// Categories of blocks follow from categories or stack frames in the file, as far as these tell:
// construction of modules, activations of forward passes, gradients, and the optimizer's step. What
// a step allocates is state only if it is still allocated at the end.
struct MemorySnapshot {
  std::filesystem::path file;
  double allocated = 0;  // Bytes when the snapshot was taken.
  double reserved = 0;
  bool has_history = false;  // The snapshot records earlier allocations.
  double begin = 0;          // Bytes when the recording began.
  double peak_allocated = 0;
  double peak_reserved = 0;
  // Peak of a later iteration like the recorded one: that of the recording, with all optimizer
  // state of its end at any time. The first step creates this state after its own peak.
  double later_peak = 0;
  std::map<trace::MemoryCategory, double> at_peak;  // Bytes at the peak by category.
  std::map<trace::MemoryCategory, double> most;     // Largest bytes of each category at any time.
  double unattributed = 0;                          // Bytes at the peak without a category.
  // Bytes allocated before the recording began and until its end, without a category.
  double from_before = 0;
  std::vector<AllocatedAt> over_time;  // State after each action of the history.
};

// Throws trace::TraceError.
MemorySnapshot read_snapshot(const std::filesystem::path& file);

}  // namespace pipewright::analysis
