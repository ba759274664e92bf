#pragma once

#include "schedules/justify.hpp"

namespace pipewright::schedules {

// Returns a lower bound of the makespan or span, in seconds, for all orders of this pipeline's
// passes with all backwards whole or all split. It is the maximum of the time of one microbatch
// through all stages and, over devices, of
//  - the time until the first pass may start, plus the work, plus, for whole backwards, the path of
//    the last gradient to the first stage;
//  - the work, plus the idle time that limited memory causes before the first I and after the last
//    F (for passes of length 1 and k activations in a V, these sum to 6n + 6p - 3k - 1 cells, arXiv
//    2405.15362, appendix);
//  - the memory-time of the activations divided by the memory limit (Little's law).
// For the span, paths begin and end on the device itself.
double lower_bound(const Pipeline& pipeline, Objective objective);

// Returns the smallest memory limit of each device with which any order can run: that of the
// activations of one microbatch.
std::vector<std::int64_t> least_memory(const Pipeline& pipeline);
// Returns true if some order of the pipeline's passes runs within its memory.
bool fits(const Pipeline& pipeline);

}  // namespace pipewright::schedules
