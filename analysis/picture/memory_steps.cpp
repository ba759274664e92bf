#include "analysis/picture/memory_steps.hpp"

#include <numeric>

namespace pipewright::analysis {

double MemoryStep::total() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

std::vector<std::vector<MemoryStep>> memory_steps(const trace::Trace& trace) {
  std::vector<std::vector<MemoryStep>> devices(trace.devices.size());
  for (const trace::MemoryRow& row : trace.memory) {
    std::vector<MemoryStep>& steps = devices.at(row.device);
    if (steps.empty() || steps.back().s != row.time) {
      steps.push_back(steps.empty() ? MemoryStep{} : steps.back());
      steps.back().s = row.time;
    }
    steps.back().bytes.at(static_cast<std::size_t>(row.category)) = static_cast<double>(row.bytes);
  }
  return devices;
}

std::vector<MemoryStep> coarser(const std::vector<MemoryStep>& steps, double span_s,
                                std::size_t columns) {
  if (steps.size() <= columns || span_s <= 0) return steps;
  const double width = span_s / static_cast<double>(columns);
  std::vector<MemoryStep> coarse;
  MemoryStep held;  // at the start of the column
  std::size_t next = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    MemoryStep fullest = held;
    const bool last = column + 1 == columns;
    const double end = static_cast<double>(column + 1) * width;
    for (; next < steps.size() && (last || steps[next].s < end); ++next) {
      held = steps[next];
      if (held.total() > fullest.total()) fullest = held;
    }
    fullest.s = static_cast<double>(column) * width;
    coarse.push_back(fullest);
  }
  return coarse;
}

}  // namespace pipewright::analysis
