#pragma once

#include <string>
#include <vector>

#include "analysis/import/numbering.hpp"

// Each rank has a clock of its own. Where they disagree, a pass seems to start before the one whose
// output it needs has ended.
namespace pipewright::analysis {

// The least time from the end of a pass to the start of one on another device that needs its
// output.
struct ClockGap {
  std::uint32_t from = 0;  // devices
  std::uint32_t to = 0;
  double least_us = 0;  // below 0: impossible
  std::size_t impossible = 0;
  NumberedPass producer;  // of the least
  NumberedPass consumer;
};

// One for each ordered pair of devices that hand over something.
std::vector<ClockGap> clock_gaps(const std::vector<NumberedPass>& passes);

// Shifts the clocks of devices so that what goes from one to its neighbour takes as long at least
// as what comes back, the way NTP estimates an offset (Mills 1991, doi 10.1109/26.103043, section
// III): half the difference of the least times of both directions. Returns each device's shift.
std::vector<double> align_clocks(std::vector<NumberedPass>& passes, std::size_t devices);

}  // namespace pipewright::analysis
