#include "sim/execution/sweep_stream.hpp"

namespace pipewright::execution {

using schedules::Pass;

DeviceStream::DeviceStream(const Job& job, std::uint32_t device, const StageCollectives& talk)
    : talk_(talk), ahead_(job.schedule.programs[device]) {
  if (job.conditions.gathers_before())
    for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage)
      if (job.schedule.routes.device(stage, 0) == device)
        end_ += talk.weight_parts[stage] * talk.weights[stage];
  if (job.gathers_for_passes()) fetch(0);
}

void DeviceStream::fetch(double time) {
  for (bool found = false; !ahead_.done() && !found; ahead_.next()) {
    const bool fused = ahead_.pass().fused;
    for (std::size_t i = 0; i < (fused ? 2 : 1); ++i) {
      if (i == 1) ahead_.next();
      const Pass pass = ahead_.pass();
      if (pass.kind == schedules::PassKind::weight_grad) continue;
      add(time, talk_.weights[pass.stage]);
      arrive_[i] = end_;
      found = true;
    }
  }
}

double DeviceStream::weights(const Pass& pass, const Milestone& needed, bool is_last, double now) {
  double& arrive = arrive_[needed.of_partner ? 1 : 0];
  const double there = arrive;
  now = std::max(now, there);
  if (needed.part + 1 < needed.parts) {
    add(now, talk_.weights[pass.stage]);
    arrive = end_;
  }
  if (is_last) fetch(now);
  return there;
}

}  // namespace pipewright::execution
