#pragma once

#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The changes of memory of a trace as varints (varints.hpp) that memory.js decodes:
//
//   changes of memory of each device    one varint a device
//   then column by column, each over the changes of device 0, of device 1, ...:
//     time - time of the change before on the device, in ticks
//     category
//     bytes - those before in the category on the device
//
// All are signed but the counts and the categories. A change that leaves a category as it was is
// left out.
std::string memory_columns(const trace::Trace& trace, double ticks_per_s);

}  // namespace pipewright::analysis
