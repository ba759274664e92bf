#pragma once

#include <algorithm>
#include <array>

#include "schedules/program.hpp"
#include "sim/execution/milestones.hpp"
#include "sim/execution/replica_timeline.hpp"

namespace pipewright::execution {

// ZeRO-2 and 3: what a device says to its copies between its passes, one collective after the
// other, in the order of its passes. All copies have the same order, so that nothing overtakes.
class DeviceStream {
 public:
  DeviceStream(const Job& job, std::uint32_t device, const StageCollectives& talk);

  void add(double posted, double seconds) { end_ = std::max(end_, posted) + seconds; }
  double end() const { return end_; }

  // ZeRO-3: when a part of the weights of the pass that runs at `now`, or of its partner, is there.
  // Then the next is asked for: after the last one the first of the next pass.
  double weights(const schedules::Pass& pass, const Milestone& needed, bool is_last, double now);

 private:
  void fetch(double time);

  const StageCollectives& talk_;
  schedules::PassCursor ahead_;     // whose weights were not yet asked for
  std::array<double, 2> arrive_{};  // those on their way: of the pass and of its partner
  double end_ = 0;
};

}  // namespace pipewright::execution
