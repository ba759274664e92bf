#pragma once

#include <vector>

namespace pipewright::analysis {

// Linear between the two values around it, `part` from 0 to 1 of the way from least to most. Of one
// value or more.
double quantile(std::vector<double> values, double part);

}  // namespace pipewright::analysis
