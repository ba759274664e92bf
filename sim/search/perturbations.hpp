#pragma once

#include <functional>

#include "analysis/report/search/robustness.hpp"
#include "sim/search/what_if_runs.hpp"

namespace pipewright::search {

// Adds the changes of conditions with which another of the compared rows would win instead of the
// first, which wins as planned: slower or faster links of a class, lower or higher latencies, and
// less memory than the winner needs. The factors are found by bisection between 1/4 and 4. Once
// `stop` returns true, those so far stay, and `turns_are_cut` is set.
void add_perturbations(const analysis::SearchRun& run, const WhatIfRuns& what_if_runs,
                       const std::function<bool()>& stop, analysis::Robustness& robust);

}  // namespace pipewright::search
