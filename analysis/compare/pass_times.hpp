#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/compare/timed_pass.hpp"

namespace pipewright::analysis {

// How long the passes of one kind on one stage take, in seconds.
struct PassTime {
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;
  std::uint64_t passes = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;  // standard deviation
  double least = 0;
  double most = 0;
};

// By stage and kind; passes of a device in order of time. A fused forward and backward take the
// time of both: they count only where a stage has no others of the kind.
std::vector<PassTime> pass_times(std::span<const TimedPass> passes);

}  // namespace pipewright::analysis
