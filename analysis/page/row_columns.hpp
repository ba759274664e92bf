#pragma once

#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The passes of a trace as bytes that compress well and that rows.js decodes: varints, as
// varints.hpp describes them. Times are integer ticks.
//
//   passes of each device            one varint a device
//   then column by column, each over the passes of device 0, of device 1, ...:
//     start - end of the pass before on the device (of 0 for the first)
//     end - start
//     released - end
//     start - ready
//     kind, stage, chunk, microbatch, iteration: each less that of the previous pass of the same
//       kind on the device (kind: of the previous pass)
//
// All are signed but the counts.
std::string row_columns(const trace::Trace& trace, double ticks_per_s);

}  // namespace pipewright::analysis
