#pragma once

#include <cstddef>
#include <vector>

#include "analysis/report/search/robustness.hpp"
#include "sim/search/trials.hpp"

namespace pipewright::search {

// What makes another of these rows win, the first of which wins as planned: a class of links, or
// latencies, that are slower or faster, found by bisection between a quarter of them and four
// times, and less memory than the winner holds.
void add_turns(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
               const LinkClasses& classes, const Trials& trials, analysis::Robustness& robust);

}  // namespace pipewright::search
