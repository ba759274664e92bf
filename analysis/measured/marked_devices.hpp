#pragma once

#include <string>
#include <vector>

#include "analysis/measured/annotations.hpp"

namespace pipewright::analysis {

// Annotations of one pipeline device, all of the same lane.
struct MarkedDevice {
  std::string name;                // "rank 8"
  std::vector<MarkedPass> passes;  // Ordered by start.
  std::vector<MarkedStep> steps;   // Ordered by start.
  std::vector<double> receives;    // Ends of the receives that the CPU waited for, in order.
  std::string category;            // Category of the lane.
  bool has_launch_times = false;   // Times are those of the CPU, which launched GPU work.
};

// Assigns annotations to devices, ordered by rank. A device is the group of a pattern if there is
// one, otherwise the rank of a file, otherwise the process. The times of a pass are those of the
// kernels launched within annotations of the CPU if there are any, otherwise those of GPU
// annotations, otherwise those of CPU annotations. Throws trace::TraceError if two files have the
// same rank.
std::vector<MarkedDevice> group_by_device(const std::vector<Annotations>& files);

}  // namespace pipewright::analysis
