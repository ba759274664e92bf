#pragma once

#include <vector>

namespace pipewright::analysis {

// Returns the quantile of at least one value for a probability from 0 to 1, interpolated linearly
// between the two neighbouring values.
double quantile(std::vector<double> values, double probability);

// Returns the standard deviation of a sample whose mean is given; 0 for a single value.
double standard_deviation(const std::vector<double>& values, double mean);

}  // namespace pipewright::analysis
