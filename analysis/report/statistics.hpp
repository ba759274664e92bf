#pragma once

#include <vector>

namespace pipewright::analysis {

// Quantile of at least one value, for a probability from 0 to 1. Interpolates linearly between the
// two neighbouring values.
double quantile(std::vector<double> values, double probability);

// Standard deviation of a sample with this mean; 0 for a single value.
double standard_deviation(const std::vector<double>& values, double mean);

}  // namespace pipewright::analysis
