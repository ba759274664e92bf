#pragma once

#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The use of links over time as varints (varints.hpp) that links.js decodes:
//
//   rows of each link    one varint a link
//   then column by column, each over the rows of link 0, of link 1, ...:
//     start - start of the row before on the link, in ticks, signed
//     end - start
//     class of traffic
//     bytes
//     flow ticks: the number of flows, summed over time
//     flow ticks by which flows took longer because the link was shared
std::string link_columns(const trace::Trace& trace, double ticks_per_s);

}  // namespace pipewright::analysis
