#include "sim/execution/sweep_stream.hpp"

namespace pipewright::execution {

DeviceStream::DeviceStream(const Job& job, std::uint32_t device, const StageTalk& talk)
    : talk_(talk), gathers_(job.gathers_for_passes()), ahead_(job.schedule.programs[device]) {
  if (!talk.weights_arrive.empty())
    for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage)
      if (job.schedule.routes.device(stage, 0) == device) end_ += talk.weights[stage];
  weights_here_ = gather(0);
  weights_next_ = gather(0);
}

DeviceStream::Arrivals DeviceStream::gather(double time) {
  Arrivals arrivals{};
  if (!gathers_ || ahead_.done()) return arrivals;
  const auto next = [&] {
    const schedules::Pass pass = ahead_.pass();
    ahead_.next();
    if (pass.kind == schedules::PassKind::weight_grad) return 0.0;
    add(time, talk_.weights[pass.stage]);
    return end_;
  };
  const bool fused = ahead_.pass().fused;
  arrivals[0] = arrivals[1] = next();
  if (fused) arrivals[1] = next();
  return arrivals;
}

void DeviceStream::started(const schedules::Pass& pass, double time) {
  if (!gathers_) return;
  if (!at_partner_ && !at_first_pass_) weights_next_ = gather(time);
  at_partner_ = pass.fused;
  if (at_partner_) return;
  weights_here_ = weights_next_;
  at_first_pass_ = false;
}

}  // namespace pipewright::execution
