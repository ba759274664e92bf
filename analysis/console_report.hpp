#pragma once

#include <span>
#include <string>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// Runs side by side, a row each, for a terminal of 100 columns; a line above says what they have in
// common, a line below names each run whose memory does not fit. A single run of up to 16 devices
// gets a second table with a row a device. The words are those of metrics.md.
std::string console_table(std::span<const Summary> runs);

}  // namespace pipewright::analysis
