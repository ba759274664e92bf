#pragma once

#include <cstddef>
#include <vector>

#include "analysis/report/search/robustness.hpp"
#include "sim/search/what_if_runs.hpp"

namespace pipewright::search {

// Adds the changes of conditions with which another of `rows` would win instead of the first, which
// wins as planned: slower or faster links of a class, lower or higher latencies, and less memory
// than the winner needs. The factors are found by bisection between 1/4 and 4.
void add_perturbations(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
                       const LinkClasses& classes, const WhatIfRuns& what_if_runs,
                       analysis::Robustness& robust);

}  // namespace pipewright::search
