#pragma once

#include <vector>

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

using Rows = std::vector<const MeasuredKernel*>;

// Fit the numbers of a data type's products so that kernel_time() comes closest to the rows:
// products and casts, or grouped products. The numbers of memory keep their values.
void fit_products(const Rows& rows, config::Gpu& gpu, config::DataType type);
void fit_grouped(const Rows& rows, config::Gpu& gpu, config::DataType type);

}  // namespace pipewright::workload
