#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

// Predicted over measured time, less 1: 0.1 for 10 % too slow.
struct KernelErrors {
  std::size_t rows = 0;
  double median = 0;  // of their sizes, as are
  double mean = 0;
  double p90 = 0;
  double largest = 0;
  double bias = 0;  // median with signs
};
KernelErrors errors_of(std::span<const double> errors);

double error_of(const MeasuredKernel& row, const config::Gpu& gpu);

struct FittedGroup {
  std::string name;       // group_of()
  KernelErrors fitted;    // of rows that the fit saw
  KernelErrors left_out;  // of each half by what the other half gives, row by row alternately
};

struct GpuFit {
  config::Gpu gpu;
  // Keys of the GPU file and what they are now, "products.fp8.efficiency" and "0.803".
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<FittedGroup> groups;
  std::vector<std::string> kept;  // "attention: 2 rows; 6 are needed", for a person
};

// The numbers of a GPU file with which kernel_time() comes nearest to the table. What the table has
// too few rows of stays as `base` has it. Throws config::Error where `base` lacks a type's peak.
GpuFit fit_gpu(const KernelTable& table, const config::Gpu& base);

}  // namespace pipewright::workload
