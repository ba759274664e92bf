#pragma once

#include <string>
#include <vector>

#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// The rows of a search as the page has them: columns of little-endian numbers one after the other,
// those of eight bytes a number first, so that each lies where a typed array can begin.
//
//   f64: candidate, cost, throughput, seconds, bound, mfu, bubble_ratio, span_bubble, peak_bytes,
//        capacity_bytes, gpus, and the parts of the time in the order of part_words
//   u32: note, as a place in `notes`
//   u16: group, then each axis
//   u8:  outcome
//
// Seconds are simulated ones, or the bound; cost, throughput and MFU follow from them; 0 where they
// are not known.
struct PageColumns {
  std::string bytes;
  std::vector<std::string> notes;  // distinct ones
};
PageColumns page_columns(const SearchRun& run);

}  // namespace pipewright::analysis
