#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {

// Measured bytes of PyTorch's allocator on a rank; unknown values are empty.
struct MeasuredMemory {
  std::optional<double> between;         // held between iterations: weights, gradients, optimizer
  std::optional<double> peak_allocated;  // max_memory_allocated
  std::optional<double> peak_reserved;
  // Largest bytes of each of the memory categories that predictions use, at any time.
  std::map<trace::MemoryCategory, double> most = {};
  std::optional<double> begin = {};  // held when a recording began, if this differs from `between`
  // State of unknown category from before a recording, and the recorded categories.
  std::optional<double> from_before = {};
  std::set<trace::MemoryCategory> recorded = {};
};

// Predicted and measured bytes of one quantity of a device's memory, such as "peak allocated".
struct MemoryError {
  std::optional<std::uint32_t> device;  // empty: the maximum over devices
  std::string part;                     // "peak allocated"
  std::optional<double> predicted;
  std::optional<double> measured;

  std::optional<double> error() const;  // predicted / measured - 1
};

// Compares each device with its ranks, which follow in the order of the devices in equal numbers;
// the rank with the largest value counts. If the numbers do not match, compares the maxima over all
// devices and ranks.
std::vector<MemoryError> compare_memory(const RunFigures& predicted,
                                        const std::map<std::uint32_t, MeasuredMemory>& ranks);

// Returns the highest peak of allocated bytes over devices; empty if it is unknown.
std::optional<double> predicted_peak(const std::vector<MemoryError>& rows);
std::optional<double> measured_peak(const std::vector<MemoryError>& rows);

ReportColumns<MemoryError> memory_columns();

}  // namespace pipewright::analysis
