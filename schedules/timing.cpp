#include "schedules/timing.hpp"

#include <utility>

namespace pipewright::schedules {

Timing::Timing(const Schedule& schedule, const PassTimes& times, const HopTimes& hops, P2p mode)
    : schedule_(schedule),
      times_(times),
      mode_(mode),
      microbatches_(schedule.total_microbatches()),
      activations_(schedule.stages() * microbatches_, not_sent),
      gradients_(schedule.stages() * microbatches_, not_sent),
      barriers_(schedule.barriers == 0 ? 0 : microbatches_),
      exchanges_(hops.barriers) {
  const std::uint32_t stages = schedule.stages();
  for (std::uint32_t route = 0; route < schedule.routes.count(); ++route) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const std::uint32_t here = schedule.routes.device(stage, route);
      const std::uint32_t previous = stage == 0 ? here : schedule.routes.device(stage - 1, route);
      const std::uint32_t next =
          stage + 1 == stages ? here : schedule.routes.device(stage + 1, route);
      stages_.push_back({.next = next,
                         .previous = previous,
                         .hop_in_activation = hops(previous, here),
                         .hop_in_gradient = hops(next, here),
                         .hop_out_activation = hops(here, next),
                         .hop_out_gradient = hops(here, previous)});
    }
  }
  for (Barrier& barrier : barriers_) barrier.left = {schedule.devices, schedule.devices};
  std::fill_n(activations_.begin(), microbatches_, 0.0);  // The first stage has its input.
  devices_.reserve(schedule.devices);
  for (const Program& program : schedule.programs) devices_.push_back({.at = PassCursor(program)});
  for (std::uint32_t device = schedule.devices; device-- > 0;) runnable_.push_back(device);
}

void Timing::fail() {
  std::vector<Blocked> blocked;
  for (std::uint32_t device = 0; device < devices_.size(); ++device) {
    const PassCursor& at = devices_[device].at;
    if (at.done()) continue;
    // A blocked device waits for its next pass; in a fused pair, possibly only for the input of the
    // second pass.
    const bool lacks_second = at.pass().fused && !must_wait(devices_[device], at.pass());
    blocked.push_back({device, lacks_second ? at.following() : at.pass()});
  }
  throw Deadlock(schedule_, std::move(blocked));
}

}  // namespace pipewright::schedules
