#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/numbering.hpp"

// Handovers: a pass on one device needs the output of a pass on another. They reveal clocks that
// disagree and passes that include a wait.
namespace pipewright::analysis {

// One flag per device: true if the recorded passes of the device begin before their inputs arrive,
// so that an input is only known to arrive before the end. CPU annotations of
// torch.distributed.pipelining include this wait.
using IncludesWaits = std::vector<bool>;

// Shortest time, over all handovers from one device to another, from the end of the producing pass
// to the start of the consuming pass (or to its end, if that pass may include a wait).
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

// Returns for each pass the latest end of the passes on other devices that compute its inputs; no
// value if there are none.
std::vector<std::optional<double>> producers_end(const std::vector<NumberedPass>& passes);

}  // namespace pipewright::analysis
