#pragma once

#include <string>

namespace pipewright::analysis {

// From the least to the most of something over the devices of a run.
struct Range {
  double least = 0;
  double most = 0;
};

// One scale for all numbers of a column, so that they compare at a glance: that in which the
// largest has one to three digits before the point, and as many decimals as it needs.
struct ColumnScale {
  double factor = 1;
  int decimals = 0;
  std::string unit;

  std::string operator()(double value) const;  // without the unit, which stands in the head
  std::string operator()(Range value) const;   // "1.95..2.04", or one number if both read alike
};

ColumnScale time_scale(double largest, int digits);  // from seconds; significant digits
ColumnScale memory_scale(double largest);            // from bytes
ColumnScale rate_scale(double largest);              // from things per second

}  // namespace pipewright::analysis
