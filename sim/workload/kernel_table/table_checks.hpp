#pragma once

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

// Throws config::Error, with the line of the table, if the GPU cannot have measured a row: it lacks
// the data type, or the row is more than 1.5 times as fast as its peak or bandwidth allows, or a
// thousand times slower. Also throws if no row is of a kind that a GPU file describes.
void check_table(const KernelTable& table, const config::Gpu& gpu);

}  // namespace pipewright::workload
