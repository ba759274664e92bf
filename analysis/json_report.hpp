#pragma once

#include <span>
#include <string>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// One run as an object, several as an array of them; ends with a newline. Keys carry their units
// and mean what metrics.md says; numbers are written so that reading them gives the same double.
std::string json_summary(std::span<const Summary> runs);

}  // namespace pipewright::analysis
