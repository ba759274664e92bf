#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/replicas.hpp"

namespace pipewright::analysis {

// Cause of lost time: compute of a device copy, its collectives in passes, or a link.
struct LostTimeCause {
  CriticalPart part = CriticalPart::other;
  std::uint32_t replica = 0;
  std::uint32_t device = 0;
  std::string host;      // first GPU of the device copy; empty: unknown
  std::string link;      // narrowest link of the route; empty: none, or unknown
  double bandwidth = 1;  // bandwidth of the link, as a fraction of that in the ideal run
  double path_s = 0;     // seconds by which activities on the critical path took longer
  double seconds = 0;    // part of the lost time
};

// Comparison of a run with its ideal run, in which every device and every link is as fast as
// planned. metrics.md has the definition.
struct LostTime {
  double ideal_s = 0;                 // makespan of the ideal run
  double seconds = 0;                 // makespan of the run minus ideal_s
  std::vector<LostTimeCause> causes;  // largest first; their seconds add up to `seconds`
};

// Divides the lost time of a run among the activities on its critical path, in proportion to the
// seconds by which they take longer than in the ideal run.
LostTime lost_time(Replicas& run, const std::vector<CriticalPiece>& path, Replicas& ideal);

// "compute of device 2 in replica 3 (node-1-gpu-4)",
// "transfers over node-1-nic-4_UP (at 10.0 % of its bandwidth)"
std::string words(const LostTimeCause& cause);

}  // namespace pipewright::analysis
