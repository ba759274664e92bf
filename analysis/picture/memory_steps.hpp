#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// From `s` on a device holds so many bytes in each category.
struct MemoryStep {
  double s = 0;
  std::array<double, trace::memory_categories> bytes{};

  double total() const;
};

// The memory of each device over time; one without rows has no steps.
std::vector<std::vector<MemoryStep>> memory_steps(const trace::Trace& trace);

// At most `columns` steps, of equal length, each with what its device holds in it at its fullest:
// the peak stays what it is.
std::vector<MemoryStep> coarser(const std::vector<MemoryStep>& steps, double span_s,
                                std::size_t columns);

}  // namespace pipewright::analysis
