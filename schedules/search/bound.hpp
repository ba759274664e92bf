#pragma once

#include "schedules/justify.hpp"

namespace pipewright::schedules {

// A time in seconds that no order of this pipeline's passes can beat, whether it runs all backwards
// whole or splits all of them: the largest over devices of
//  - the time until its first pass may start, its work, and, of whole backwards, the way of the
//  last
//    gradient to the first stage;
//  - its work, the time before its first I that too little memory leaves idle, and likewise the
//    time after its last F (for unit passes and k activations in a V: 6n + 6p - 3k - 1 cells,
//    arXiv 2405.15362, appendix);
//  - the memory-time that its activations need, by what it may hold (Little's law);
// and of one microbatch's way through all stages. For the span, ways begin and end on the device.
double lower_bound(const Pipeline& pipeline, Objective objective);

// The least limit with which any order can run, by device: one microbatch's activations.
std::vector<std::int64_t> least_memory(const Pipeline& pipeline);
// Whether some order of a pipeline's passes keeps within its memory.
bool fits(const Pipeline& pipeline);

}  // namespace pipewright::schedules
