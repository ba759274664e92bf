#include "sim/execution/replica_timeline.hpp"

#include <algorithm>
#include <optional>

#include "schedules/timing.hpp"
#include "sim/execution/neighbours.hpp"
#include "sim/execution/noise.hpp"
#include "sim/execution/sweep_stream.hpp"

namespace pipewright::execution {
namespace {

using schedules::Pass;
using schedules::PassKind;
using schedules::PassSpan;
using schedules::PassTimes;

bool is_full(const Job& job) { return job.conditions.communication.detail == config::Detail::full; }

schedules::HopTimes hops_of(const Job& job, std::uint32_t replica, LeastTimes& least) {
  schedules::HopTimes hops(0);
  for (const auto& [a, b] : neighbours(job.schedule.routes))
    hops.set(a, b, least.hop(replica, a, b, job.costs.boundary_bytes));
  return hops;
}

// The least on the devices that hold the stage.
double factor_of(const Job& job, std::uint32_t replica, std::uint32_t stage) {
  const schedules::Routes& routes = job.schedule.routes;
  double least = straggler_factor(job, {replica, routes.device(stage, 0)});
  for (std::uint32_t route = 1; route < routes.count(); ++route)
    least = std::min(least, straggler_factor(job, {replica, routes.device(stage, route)}));
  return least;
}

// Of a pass that takes `seconds`: its compute takes `factor` times as long, what it waits for does
// not. Alone or as half of a pair, which takes `overlap` times the sum, it takes this at least.
double slowed(double seconds, double waits, double factor, double overlap) {
  if (factor == 1) return seconds;
  if (factor < 1 && overlap != 1) return seconds * factor;
  if (factor * (1 - overlap) > 1) return seconds;
  const double kept = (1 - factor) * std::min(waits, seconds);
  return seconds * factor + std::min(kept, kept / overlap);
}

// Pass times of a replica with its stragglers, without the collectives of full detail.
PassTimes slowed_times(const Job& job, std::uint32_t replica) {
  PassTimes times = job.costs.times;
  if (job.slowdown.empty()) return times;
  const double overlap = schedules::has_fused_pairs(job.schedule) ? times.overlap : 1;
  double smallest = 1;
  for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage) {
    const double factor = factor_of(job, replica, stage);
    smallest = std::min(smallest, factor);
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
      if (times.of_stage[kind].empty()) continue;
      const auto& waits = job.costs.exposed[kind];
      double& seconds = times.of_stage[kind][stage];
      seconds = slowed(seconds, is_full(job) || waits.empty() ? 0 : waits[stage], factor, overlap);
    }
  }
  for (double& seconds : times.fused) seconds *= smallest;
  return times;
}

// What full detail adds. Of a fused pair it is not said here who waits.
void add_calls(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
               LeastTimes& least, PassTimes& times) {
  for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage) {
    const ReplicaDevice who{replica, job.schedule.routes.device(stage, 0)};
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
      if (times.of_stage[kind].empty()) continue;
      for (const workload::Call& call : job.costs.traffic[stage].inside[kind]) {
        const auto& process_group = replica_groups.process_group(
            call.group, replica_groups.process_group_of(call.group, who));
        const double once = least.seconds({{&process_group.groups, call.collective, call.bytes}},
                                          job.conditions.communication.all_reduce);
        times.of_stage[kind][stage] += std::max(0.0, call.times * once - call.overlappable_compute);
      }
    }
  }
}

// Follows the passes of a replica, and knows what falls due while they run.
class Follower {
 public:
  // `bare` times are without the collectives of full detail, which may come all at the end.
  Follower(const Job& job, const StageCollectives& talk, const PassTimes& times,
           const PassTimes& bare, ReplicaTimeline& result)
      : job_(job), talk_(talk), times_(times), bare_(bare), result_(result) {
    const schedules::Routes& routes = job.schedule.routes;
    const std::uint32_t all = job.schedule.total_microbatches();
    for (std::uint32_t route = 0; route < routes.count(); ++route)
      left_.insert(left_.end(), routes.stages(),
                   (all + routes.count() - 1 - route) / routes.count());
    result_.released.resize(job.schedule.devices);
    result_.posted.resize(job.schedule.stages());
    fetched_.resize(std::size_t{job.schedule.devices} * job.schedule.stages());
    for (std::uint32_t device = 0; talks_between_passes(job) && device < job.schedule.devices;
         ++device)
      streams_.emplace_back(job, device, talk);
  }

  // When a pass, or a fused pair, starts that could do so at `ready`.
  double start(std::uint32_t device, const Pass& pass, const Pass* partner, double ready) {
    const Pass* last = nullptr;
    for (const Pass* one : {&pass, partner})
      if (one != nullptr && completes(*one)) last = one;
    last_ = last == nullptr ? std::nullopt : std::optional(*last);
    const bool overlaps = job_.conditions.communication.overlap_grad_reduce;
    const Milestones milestones(last != nullptr && overlaps ? talk_.parts[last->stage] : 0,
                                weight_parts(device, pass),
                                partner == nullptr ? 0 : weight_parts(device, *partner));
    const double compute = partner == nullptr ? bare_(pass) : bare_(pass, *partner);
    const double seconds = partner == nullptr ? times_(pass) : times_(pass, *partner);
    const double waited = walk(
        milestones, ready, compute,
        [&](std::uint32_t part, double time) { post(device, last->stage, part, time); },
        [&](const Milestone& due, bool is_last, double time) {
          const Pass& one = due.of_partner ? *partner : pass;
          return gathers_ ? streams_[device].weights(one, due, is_last, time)
                          : talk_.weights_arrive(one.stage, due.part);
        });
    return ready + std::max(0.0, waited + compute - seconds);
  }

  void ended(std::uint32_t device, const Pass& pass, const PassSpan& span) {
    result_.end = std::max(result_.end, span.end);
    result_.released[device] = span.released;
    if (job_.conditions.communication.overlap_grad_reduce || last_ != pass) return;
    for (std::uint32_t part = 0; part < talk_.parts[pass.stage]; ++part)
      post(device, pass.stage, part, span.released);
  }

  void finish() {
    for (const DeviceStream& stream : streams_) result_.stream_end.push_back(stream.end());
  }

 private:
  // Whether gradients are reduced after it: once it is the last to add to its stage's, or, where
  // they are sharded, always.
  bool completes(const Pass& pass) {
    if (!ends_microbatch(pass.kind)) return false;
    const schedules::Routes& routes = job_.schedule.routes;
    return --left_[routes.route_of(pass.microbatch) * routes.stages() + pass.stage] == 0 ||
           !streams_.empty();
  }
  std::uint32_t weight_parts(std::uint32_t device, const Pass& pass) {
    if (gathers_) return pass.kind == PassKind::weight_grad ? 0 : talk_.weight_parts[pass.stage];
    if (talk_.weights_begin.empty()) return 0;
    const std::size_t place = std::size_t{device} * job_.schedule.stages() + pass.stage;
    if (fetched_[place]) return 0;
    fetched_[place] = true;
    return talk_.weight_parts[pass.stage];
  }
  void post(std::uint32_t device, std::uint32_t stage, std::uint32_t part, double time) {
    if (!streams_.empty()) return streams_[device].add(time, talk_.gradients[stage]);
    auto& posted = result_.posted[stage];
    if (posted.size() <= part) posted.resize(part + 1);
    posted[part] = std::max(posted[part], time);
  }

  const Job& job_;
  const StageCollectives& talk_;
  const PassTimes& times_;
  const PassTimes& bare_;
  ReplicaTimeline& result_;
  bool gathers_ = job_.gathers_for_passes();
  std::optional<Pass> last_;           // of what runs: whose gradients are reduced after it
  std::vector<std::uint32_t> left_;    // by route and stage
  std::vector<bool> fetched_;          // by device and stage: weights were waited for
  std::vector<DeviceStream> streams_;  // by device; none before ZeRO-2
};

}  // namespace

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
    parts[stage] = replica_groups.parts(stage);
    gradients[stage] = least.seconds(replica_groups.gradients(stage), all_reduce);
    if (job.conditions.zero == 0) continue;
    weight_parts[stage] = replica_groups.weight_parts(stage);
    weights[stage] = least.seconds(replica_groups.weights(stage), all_reduce);
  }
  if (!job.conditions.gathers_before()) return;
  // Those who hold the same stages gather them in order.
  weights_begin.resize(stages);
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    for (std::uint32_t before = 0; before < stage; ++before)
      if (replica_groups.holders(before) == replica_groups.holders(stage))
        weights_begin[stage] += weight_parts[before] * weights[before];
}

ReplicaTimeline sweep(const Job& job, std::uint32_t replica, const ReplicaGroups& replica_groups,
                      const StageCollectives& talk, LeastTimes& least) {
  const schedules::HopTimes hops = hops_of(job, replica, least);
  const PassTimes bare = slowed_times(job, replica);
  PassTimes times = bare;
  const bool adds = is_full(job) && job.ranks && !job.costs.traffic.empty() &&
                    !schedules::has_fused_pairs(job.schedule);
  if (adds) add_calls(job, replica, replica_groups, least, times);

  ReplicaTimeline result;
  Follower follower(job, talk, times, bare, result);
  schedules::Timing timing(job.schedule, times, hops, job.p2p);
  timing.run([&](std::uint32_t device, const Pass& pass,
                 const PassSpan& span) { follower.ended(device, pass, span); },
             [&](std::uint32_t device, const Pass& pass, const Pass* partner, double ready) {
               return follower.start(device, pass, partner, ready);
             });
  follower.finish();
  return result;
}

}  // namespace pipewright::execution
