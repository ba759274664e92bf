#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// How much a GPU's allocator had handed out after one of its actions.
struct AllocatedAt {
  double time_s = 0;  // from the first recorded action; the action's number where none says when
  double bytes = 0;
};

// What torch.cuda.memory._dump_snapshot wrote of the GPU of a process, in bytes. Blocks count as
// the allocator rounds them, to 512 bytes.
struct MemorySnapshot {
  std::filesystem::path file;
  double allocated = 0;  // when it was taken
  double reserved = 0;
  bool has_history = false;  // of what was allocated and freed before that
  double peak_allocated = 0;
  double peak_reserved = 0;
  // Of the peak, what stacks or categories tell: the optimizer's step, module's construction, what
  // forward passes keep.
  std::map<trace::MemoryCategory, double> at_peak;
  double untold = 0;                   // the rest
  std::vector<AllocatedAt> over_time;  // each action of the history
};

// Throws trace::TraceError.
MemorySnapshot read_snapshot(const std::filesystem::path& file);

}  // namespace pipewright::analysis
