#pragma once

#include <cstdint>
#include <vector>

#include "analysis/idle_time.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// A piece of time in which a device computes nothing, for one reason. An optimizer's step is no
// idle time.
struct Idle {
  std::uint32_t device = 0;
  IdleCause cause = IdleCause::other;
  double start = 0;
  double end = 0;
  std::uint32_t stage = 0;       // of the cause
  std::uint32_t microbatch = 0;  // likewise, where it has one

  bool operator==(const Idle&) const = default;
};

// All of them, device by device in order of time. Together with passes and optimizer's steps they
// cover each device from 0 to the makespan.
std::vector<Idle> idle_times(const trace::Trace& trace);

class TraceIndex;
// Of a trace that has an index already.
std::vector<Idle> idle_times(const trace::Trace& trace, const TraceIndex& index);

}  // namespace pipewright::analysis
