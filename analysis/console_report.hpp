#pragma once

#include <span>
#include <string>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// Runs side by side, a row each, for a terminal of 100 columns; a line above says what they have in
// common, a line below names each run whose memory does not fit. A single run of up to 16 devices
// gets a second table with a row a device. The words are those of metrics.md.
std::string console_table(std::span<const Summary> runs);

// The peak microbatches in flight on the devices of a run: "8", "5.5..7".
std::string in_flight_text(const Summary& run);

}  // namespace pipewright::analysis
