#pragma once

#include <vector>

#include "schedules/costs.hpp"
#include "sim/execution/least_times.hpp"

namespace pipewright::execution {

// What the stages of a job say to their copies, and how long it takes at least, in seconds.
struct StageCollectives {
  StageCollectives(const Job& job, const ReplicaGroups& replica_groups, LeastTimes& least);

  std::vector<std::uint32_t> parts;         // by stage: of its gradients; 0: nobody else holds it
  std::vector<std::uint32_t> weight_parts;  // by stage; 0: likewise, or they are there all along
  std::vector<double> gradients;            // by stage: of a part
  std::vector<double> weights;              // by stage: of a part
  std::vector<double> weights_begin;        // by stage, where they are gathered before all passes

  double weights_arrive(std::uint32_t stage, std::uint32_t part) const {
    return weights_begin[stage] + (part + 1) * weights[stage];
  }
};

// ZeRO-2 and 3: whether gradients are reduced after each pass that makes some.
inline bool talks_between_passes(const Job& job) {
  return job.conditions.zero >= 2 && !job.costs.traffic.empty();
}

// When the passes of one replica are over, at the earliest.
struct ReplicaTimeline {
  double end = 0;                           // of all passes
  std::vector<double> released;             // by device: after its last pass
  std::vector<double> stream_end;           // by device: ZeRO-2 and 3: of its collectives
  std::vector<std::vector<double>> posted;  // else by stage and part: its gradients are whole
};
ReplicaTimeline sweep(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
                      const StageCollectives& talk, LeastTimes& least);

}  // namespace pipewright::execution
