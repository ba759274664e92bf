#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured/numbering.hpp"

// What passes on one device need of passes on another, and what that says of clocks and waits.
namespace pipewright::analysis {

// By device: whether what marks a pass begins before its input is there, so that only its end says
// when the input was. The CPU's annotations of torch.distributed.pipelining begin with the wait.
using HoldsWaits = std::vector<bool>;

// The least time from the end of a pass to where one on another device that needs its output can
// have begun: its start, or its end where it may have waited.
struct PassHandover {
  std::uint32_t from = 0;  // devices
  std::uint32_t to = 0;
  double least_us = 0;         // below 0: impossible
  std::size_t impossible = 0;  // how many
  NumberedPass producer;       // of the least
  NumberedPass consumer;
};

std::vector<PassHandover> handovers(const std::vector<NumberedPass>& passes,
                                    const HoldsWaits& waits);

// Whether clocks that are off by a constant each could explain every impossible handover.
bool shifts_can_mend(const std::vector<PassHandover>& found, std::size_t devices);

// Shifts each device's clock so that no handover is impossible, and by the half of what there is
// to spare both ways. Microseconds. Nothing is shifted where it would not help.
std::vector<double> align_clocks(std::vector<NumberedPass>& passes, const HoldsWaits& waits,
                                 std::size_t devices);

// The end of the last pass on another device that each pass takes its input from; empty if none.
std::vector<std::optional<double>> producers_end(const std::vector<NumberedPass>& passes);

}  // namespace pipewright::analysis
