#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/handovers.hpp"
#include "analysis/measured/marked_devices.hpp"
#include "analysis/measured/numbering.hpp"

namespace pipewright::analysis {

// Which devices' passes may begin with the wait for their input: those that PyTorch marks on the
// CPU, and all of them where no shift of clocks explains how early passes begin, and waits would.
HoldsWaits holds_waits(const std::vector<NumberedPass>& passes,
                       const std::vector<MarkedDevice>& devices);

// Cuts from such passes what precedes the arrival of their input: the end of a receive that the CPU
// waited for within the pass, and not before the pass ended that the input comes from, plus the
// least time that such a receive ended later elsewhere. Adds a note on each device where it did.
void cut_waits(std::vector<NumberedPass>& passes, const HoldsWaits& waits,
               const std::vector<MarkedDevice>& devices, const std::vector<double>& shifts,
               std::vector<std::string>& notes);

}  // namespace pipewright::analysis
