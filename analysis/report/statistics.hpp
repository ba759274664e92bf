#pragma once

#include <vector>

namespace pipewright::analysis {

// Linear between the two values around it, `part` from 0 to 1 of the way from least to most. Of one
// value or more.
double quantile(std::vector<double> values, double part);

// The standard deviation of a sample of this mean; of a single value 0.
double standard_deviation(const std::vector<double>& values, double mean);

}  // namespace pipewright::analysis
