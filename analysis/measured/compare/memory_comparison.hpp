#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  // Bytes at the time of the peak, in the memory categories that predictions use.
  std::map<trace::MemoryCategory, double> at_peak;
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
