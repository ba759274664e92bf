#pragma once

#include <algorithm>
#include <array>

#include "schedules/program.hpp"
#include "sim/execution/sweep.hpp"

namespace pipewright::execution {

// ZeRO-2 and 3: what a device says to its copies between its passes, one collective after the
// other, in the order of its passes. All copies have the same order, so that nothing overtakes.
class DeviceStream {
 public:
  DeviceStream(const Job& job, std::uint32_t device, const StageTalk& talk);

  // When the pass that is to run next, or its partner, has its weights.
  double arrival(const schedules::Pass& pass) const {
    if (gathers_) return weights_here_[pass.fused ? 0 : 1];
    const bool waits = !talk_.weights_arrive.empty() && pass.kind == schedules::PassKind::forward;
    return waits ? talk_.weights_arrive[pass.stage] : 0;
  }
  // In the order of the passes. With the first of a pair, the weights of what follows are asked
  // for.
  void started(const schedules::Pass& pass, double time);
  void add(double posted, double seconds) { end_ = std::max(end_, posted) + seconds; }
  double end() const { return end_; }

 private:
  using Arrivals = std::array<double, 2>;  // of the first and the last of a pair, or of one pass
  Arrivals gather(double time);

  const StageTalk& talk_;
  bool gathers_;
  schedules::PassCursor ahead_;  // whose weights were not yet asked for
  Arrivals weights_here_{};
  Arrivals weights_next_{};
  bool at_first_pass_ = true;  // what follows it was asked for at the start
  bool at_partner_ = false;
  double end_ = 0;
};

}  // namespace pipewright::execution
