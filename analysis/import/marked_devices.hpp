#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/annotations.hpp"

namespace pipewright::analysis {

// The annotations of one pipeline device, of one lane of its.
struct MarkedDevice {
  std::string name;                // "rank 8"
  std::vector<MarkedPass> passes;  // by start
  std::vector<MarkedStep> steps;   // likewise
};

// Which annotations are of which device: those of a file with a rank are of that rank, else of the
// process; a pattern's group stands above both. Ranks are in order. Where a device has annotations
// of the GPU, those of the CPU, which only say when work was launched, are left out. Throws
// trace::TraceError where two files are of one rank.
std::vector<MarkedDevice> devices_of(const std::vector<Annotations>& files);

}  // namespace pipewright::analysis
