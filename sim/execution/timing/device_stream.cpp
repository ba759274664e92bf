#include "sim/execution/timing/device_stream.hpp"

namespace pipewright::execution {

using schedules::Pass;

StageCollectives::StageCollectives(const Job& job, const ReplicaGroups& replica_groups,
                                   LeastTimes& least) {
  const std::uint32_t stages = job.schedule.stages();
  parts.resize(stages);
  weight_parts.resize(stages);
  gradients.resize(stages);
  weights.resize(stages);
  if (job.costs.traffic.empty()) return;
  const config::Algorithm all_reduce = job.conditions.communication.all_reduce;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    if (!replica_groups.has(stage)) continue;
    any = true;
    parts[stage] = replica_groups.parts(stage);
    gradients[stage] = least.seconds(replica_groups.gradients(stage), all_reduce);
    if (job.conditions.zero == 0) continue;
    weight_parts[stage] = replica_groups.weight_parts(stage);
    weights[stage] = least.seconds(replica_groups.weights(stage), all_reduce);
  }
}

DeviceStream::DeviceStream(const Job& job, std::uint32_t device,
                           const StageCollectives& collectives, double start, TimingRows* rows)
    : collectives_(collectives),
      device_(device),
      rows_(rows),
      ahead_(job.schedule.programs[device]),
      end_(start) {
  if (job.gathers_for_passes()) prefetch(start);
}

void DeviceStream::prefetch(double time) {
  for (bool found = false; !ahead_.done() && !found; ahead_.next()) {
    const bool fused = ahead_.pass().fused;
    for (std::size_t i = 0; i < (fused ? 2 : 1); ++i) {
      if (i == 1) ahead_.next();
      const Pass pass = ahead_.pass();
      if (pass.kind == schedules::PassKind::weight_grad) continue;
      gather_weights(pass.stage, time);
      arrive_[i] = end_;
      found = true;
    }
  }
}

double DeviceStream::wait_for_weights(const Pass& pass, const Milestone& needed, bool is_last,
                                      double now) {
  double& arrive = arrive_[needed.of_partner ? 1 : 0];
  const double there = arrive;
  now = std::max(now, there);
  if (rows_ != nullptr && needed.part == 0) rows_->hold_weights(device_, pass.stage, now);
  if (needed.part + 1 < needed.parts) {
    gather_weights(pass.stage, now);
    arrive = end_;
  }
  if (is_last) prefetch(now);
  return there;
}

}  // namespace pipewright::execution
