#pragma once

#include <string>
#include <vector>

#include "analysis/measured/annotations.hpp"

namespace pipewright::analysis {

// The annotations of one pipeline device, of one lane of its.
struct MarkedDevice {
  std::string name;                // "rank 8"
  std::vector<MarkedPass> passes;  // by start
  std::vector<MarkedStep> steps;   // likewise
  std::vector<double> receives;    // ends of those that its CPU waited for, in order
  std::string category;            // of the lane
  bool only_launched = false;      // a GPU's work, timed by the CPU that launched it
};

// Which annotations are of which device: those of a file with a rank are of that rank, else of the
// process; a pattern's group stands above both. Ranks are in order. Where a device has kernels that
// were launched within annotations of the CPU, they say when a pass ran; else annotations of the
// GPU; else those of the CPU. Throws trace::TraceError where two files are of one rank.
std::vector<MarkedDevice> devices_of(const std::vector<Annotations>& files);

}  // namespace pipewright::analysis
