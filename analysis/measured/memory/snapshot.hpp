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
struct MemorySnapshot {
  std::filesystem::path file;
  double allocated = 0;  // Bytes when the snapshot was taken.
  double reserved = 0;
  bool has_history = false;  // The snapshot records earlier allocations.
  double peak_allocated = 0;
  double peak_reserved = 0;
  // Bytes at the peak by category, as far as categories or stack frames reveal it: the optimizer's
  // step, construction of modules, activations of forward passes.
  std::map<trace::MemoryCategory, double> at_peak;
  double unattributed = 0;             // Bytes at the peak without a category.
  std::vector<AllocatedAt> over_time;  // State after each action of the history.
};

// Throws trace::TraceError.
MemorySnapshot read_snapshot(const std::filesystem::path& file);

}  // namespace pipewright::analysis
