#pragma once

#include "sim/workload/kernel_table/kernel_table.hpp"

namespace pipewright::workload {

// Throws config::Error, with the line of the table, if this GPU cannot have been the measured one:
// it lacks the data type, or the time is shorter than its peak rate or bandwidth allows by more
// than a factor of 1.5, or more than a thousand times longer. Also throws if no row is of a kind
// that a GPU file describes.
void check_table(const KernelTable& table, const config::Gpu& gpu);

}  // namespace pipewright::workload
