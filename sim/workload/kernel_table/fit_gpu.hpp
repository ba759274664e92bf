#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

// Statistics of relative errors of predicted times (predicted / measured - 1): 0.1 means that the
// prediction is 10 % too long.
struct KernelErrors {
  std::size_t rows = 0;
  double median = 0;  // the figures from here on are of absolute errors
  double mean = 0;
  double p90 = 0;
  double largest = 0;
  double bias = 0;  // median of signed values
};
KernelErrors errors_of(std::span<const double> errors);

double error_of(const MeasuredKernel& row, const config::Gpu& gpu);

struct FittedGroup {
  std::string name;     // as group_of() names it
  KernelErrors fitted;  // errors of the rows that were fitted
  // Cross-validation: errors of each half of the rows with numbers that are fitted to the other
  // half.
  KernelErrors left_out;
};

struct GpuFit {
  config::Gpu gpu;
  // Keys of the GPU file with their fitted values, such as "products.fp8.efficiency" and "0.803".
  std::vector<std::pair<std::string, std::string>> keys;
  std::vector<FittedGroup> groups;
  std::vector<std::string> notes;  // reasons for keys that were not fitted
};

// Fits the numbers of a GPU file so that the times of kernel_time() come closest to those of the
// table. Numbers for which the table has too few rows keep the value of `base`. Throws
// config::Error if `base` lacks the peak of a data type.
GpuFit fit_gpu(const KernelTable& table, const config::Gpu& base);

}  // namespace pipewright::workload
