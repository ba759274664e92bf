#pragma once

#include <string>
#include <vector>

#include "sim/config/text/value.hpp"

// Numbers of a GPU's file that its maker has published as a range, or with several values over
// time, because the GPU is not sold yet: "memory_bandwidth: {low: 19.4 TB/s, high: 22 TB/s}".
// Predictions use the middle.
namespace pipewright::config {

struct PublishedRange {
  std::string key;  // dotted key in the GPU's file
  std::string low;  // numbers with the same unit
  std::string high;
};

enum class RangeEnd { low, middle, high };

// Returns the ranges in the map of a GPU's keys, in the order written. Throws an Error if a range
// lacks an end, if its ends have unlike units, or if `high` is not above `low`.
std::vector<PublishedRange> published_ranges(const Value& gpu);

// Returns the map of a GPU's keys with numbers in place of ranges: the same end of all ranges, or
// the middle of each. Throws an Error as published_ranges() does.
Value at_range_end(Value gpu, RangeEnd end);

}  // namespace pipewright::config
