#pragma once

#include <string>

#include "analysis/summary.hpp"

// The console's lines on memory.
namespace pipewright::analysis {

// "! 1f1b does not fit: device 0 (node-0-gpu-0) peaks at 82.1 GiB at 1.63 s, 2.1 GiB over its
// 80.0 GiB, from 0.49 s on: ...", or nothing.
std::string over_capacity_line(const Summary& run, const std::string& name);

// What each device holds at its peak, a column for each component that any of them has.
std::string component_table(const Summary& run);

// The same of the fullest device, in a line.
std::string peak_line(const Summary& run);

}  // namespace pipewright::analysis
