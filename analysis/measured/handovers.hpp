#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/numbering.hpp"

// Dependencies between passes on different devices, and conclusions about clocks and waits.
namespace pipewright::analysis {

// True for each device whose marked passes begin before their input arrives, so that only their
// ends bound the arrival. CPU annotations of torch.distributed.pipelining include the wait.
using IncludesWaits = std::vector<bool>;

// Shortest time from the end of a pass to the latest possible start of a pass on another device
// that needs its output: the start of the latter, or its end if it may have waited.
struct PassHandover {
  std::uint32_t from = 0;  // Indices of the devices.
  std::uint32_t to = 0;
  double min_us = 0;           // Negative if the handover is impossible.
  std::size_t impossible = 0;  // Number of impossible handovers.
  NumberedPass producer;       // Passes with the shortest time.
  NumberedPass consumer;
};

std::vector<PassHandover> handovers(const std::vector<NumberedPass>& passes,
                                    const IncludesWaits& waits);

// Returns true if a constant offset of each clock could explain every impossible handover.
bool shifts_can_fix(const std::vector<PassHandover>& list, std::size_t devices);

// Shifts the clock of each device so that no handover is impossible and the slack in both
// directions is equal. Shifts nothing if that would not help. Returns the shifts in microseconds.
std::vector<double> align_clocks(std::vector<NumberedPass>& passes, const IncludesWaits& waits,
                                 std::size_t devices);

// Returns for each pass the end of the last pass on another device whose output it takes; no value
// if there is none.
std::vector<std::optional<double>> producers_end(const std::vector<NumberedPass>& passes);

}  // namespace pipewright::analysis
