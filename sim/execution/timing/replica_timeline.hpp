#pragma once

#include <optional>
#include <vector>

#include "schedules/costs.hpp"
#include "sim/execution/timing/device_stream.hpp"

namespace pipewright::execution {

// ZeRO-2 and 3: whether gradients are reduced after each pass that makes some.
inline bool reduces_between_passes(const Job& job) {
  return job.conditions.zero >= 2 && !job.costs.traffic.empty();
}

// A part of a stage's gradients is whole on a device.
struct GradientPost {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::uint32_t part = 0;
  double time = 0;  // seconds from the start of the run
};

// The passes of one replica where nothing contends, each as early as its inputs and weights allow.
class ReplicaTimeline {
 public:
  ReplicaTimeline(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
                  const StageCollectives& collectives, LeastTimes& least);

  // When an iteration begins. In seconds from the start of the run.
  struct Begin {
    std::vector<double> devices;  // by device: it is free for its first pass
    std::vector<double> weights;  // by stage: the first part of its weights starts to be gathered
  };
  struct Passes {
    double end = 0;                   // of all passes
    std::vector<double> released;     // by device: after its last pass
    std::vector<double> gathering;    // by device: seconds that passes waited for weights
    std::vector<double> stream_end;   // by device: of the collectives of ZeRO-2 and 3
    std::vector<GradientPost> posts;  // of others, in the order of each device
  };
  // Throws schedules::Deadlock. Rows go to `rows`, if any.
  Passes run(const Begin& begin, TimingRows* rows) const;

 private:
  class Follower;

  const Job& job_;
  const StageCollectives& collectives_;
  schedules::HopTimes hops_;
  schedules::PassTimes compute_;  // without the collectives of full detail
  std::optional<schedules::PassTimes> with_collectives_;
};

}  // namespace pipewright::execution
