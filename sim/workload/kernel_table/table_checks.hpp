#pragma once

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

// Throws config::Error, with the line of the table, where a GPU cannot have measured it: it lacks
// the data type, would be half as fast again as its peak or bandwidth, or a thousand times slower;
// and where no row tells of what a GPU file has.
void check_table(const KernelTable& table, const config::Gpu& gpu);

}  // namespace pipewright::workload
