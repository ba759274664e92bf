#pragma once

#include <vector>

#include "sim/sweep/axis.hpp"
#include "sim/sweep/constraints/program.hpp"

namespace pipewright::search {

// The names that the constraints of a sweep may use. The values of open axes are told which names
// they set; what fixed ones and the scenario say is what the names hold at first.
Names make_names(const Sweep& sweep, const std::vector<ClusterFacts>& facts, SweepAxes& axes);

}  // namespace pipewright::search
