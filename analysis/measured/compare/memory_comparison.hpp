#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/compare/run_figures.hpp"
#include "analysis/report/report_table.hpp"

namespace pipewright::analysis {

// Bytes of PyTorch's allocator that were measured on a rank; what is not known is empty.
struct MeasuredMemory {
  std::optional<double> between;         // held between iterations: weights, gradients, optimizer
  std::optional<double> peak_allocated;  // max_memory_allocated
  std::optional<double> peak_reserved;
  // Of the peak, by the category of a prediction.
  std::map<trace::MemoryCategory, double> at_peak;
};

// One part of a device's memory, predicted beside measured.
struct MemoryError {
  std::optional<std::uint32_t> device;  // empty: the device with most of it
  std::string part;                     // "peak allocated"
  std::optional<double> predicted;
  std::optional<double> measured;

  std::optional<double> error() const;  // predicted / measured - 1
};

// Ranks in their order are those of the devices, as many for each; of several the one with most
// counts. Where there are not so many, the most of all is compared.
std::vector<MemoryError> compare_memory(const RunFigures& predicted,
                                        const std::map<std::uint32_t, MeasuredMemory>& ranks);

// "peak_memory_bytes": the most that a device allocates; empty where it is not known.
std::optional<double> predicted_peak(const std::vector<MemoryError>& rows);
std::optional<double> measured_peak(const std::vector<MemoryError>& rows);

ReportColumns<MemoryError> memory_columns();

}  // namespace pipewright::analysis
