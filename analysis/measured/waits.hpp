#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/handovers.hpp"
#include "analysis/measured/marked_devices.hpp"
#include "analysis/measured/numbering.hpp"

namespace pipewright::analysis {

// Returns the devices whose passes may begin with a wait for their input: those that PyTorch marks
// on the CPU, or all devices if waits but no shift of clocks explain the early starts.
IncludesWaits passes_include_waits(const std::vector<NumberedPass>& passes,
                                   const std::vector<MarkedDevice>& devices);

// Moves the start of each pass that includes a wait to the arrival of its input. The input arrives
// at the end of a receive within the pass that blocked the CPU; otherwise at the end of the
// producing pass plus the shortest time of such receives. Adds a note for each device with waits.
void cut_waits(std::vector<NumberedPass>& passes, const IncludesWaits& waits,
               const std::vector<MarkedDevice>& devices, const std::vector<double>& shifts,
               std::vector<std::string>& notes);

}  // namespace pipewright::analysis
