#pragma once

#include <vector>

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

using Rows = std::vector<const MeasuredKernel*>;

// The numbers of one type's products with which kernel_time() comes nearest to rows of its products
// and casts, and those of its grouped products to rows of these. Memory's stay as they are.
void fit_products(const Rows& rows, config::Gpu& gpu, config::DataType type);
void fit_grouped(const Rows& rows, config::Gpu& gpu, config::DataType type);

}  // namespace pipewright::workload
