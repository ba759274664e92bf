#pragma once

#include <vector>

#include "sim/sweep/axis.hpp"
#include "sim/sweep/constraints/program.hpp"

namespace pipewright::search {

// Makes the names that the constraints of a sweep may use, with the values that the scenario and
// fixed axes give them. Stores in each value of an open axis which names it sets, and to what.
Names make_names(const Sweep& sweep, const std::vector<ClusterFacts>& facts, SweepAxes& axes);

}  // namespace pipewright::search
