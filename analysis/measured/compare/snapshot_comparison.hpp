#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/measured/compare/memory_comparison.hpp"
#include "analysis/measured/memory/snapshot.hpp"

namespace pipewright::analysis {

// Comparison of a predicted run with snapshots of PyTorch's allocator, one for each rank in the
// order of the devices.
struct SnapshotComparison {
  std::string predicted_name;
  std::string measured_name;
  std::vector<MemoryError> memory;
  std::vector<MemorySnapshot> snapshots;
  std::vector<std::string> notes;
  std::vector<Judgement> judgements;
};

SnapshotComparison compare_snapshots(const RunFigures& predicted,
                                     const std::vector<std::filesystem::path>& files);

// Returns the metric that conditions may use, peak_memory_bytes, of the prediction or of the
// measurement.
Metrics predicted_metrics(const SnapshotComparison& comparison);
Metrics measured_metrics(const SnapshotComparison& comparison);

std::string console_text(const SnapshotComparison& comparison);
std::string json_text(const SnapshotComparison& comparison);

}  // namespace pipewright::analysis
