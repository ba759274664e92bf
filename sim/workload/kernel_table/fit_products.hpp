#pragma once

#include <vector>

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

using Rows = std::vector<const MeasuredKernel*>;

// Fit the numbers of a data type's products so that the times of kernel_time() come closest to the
// rows: fit_products() for single products and casts, fit_grouped() for grouped products. The
// numbers for memory keep their values.
void fit_products(const Rows& rows, config::Gpu& gpu, config::DataType type);
void fit_grouped(const Rows& rows, config::Gpu& gpu, config::DataType type);

}  // namespace pipewright::workload
