#pragma once

#include <span>
#include <string>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// A row a device of each run, under a header that names units; quoted as RFC 4180 says. Unknown
// capacities are empty.
std::string csv_summary(std::span<const Summary> runs);

}  // namespace pipewright::analysis
