#include "sim/execution/sweep.hpp"

#include <algorithm>

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
      const auto& waits = job.costs.waits[kind];
      double& seconds = times.of_stage[kind][stage];
      seconds = slowed(seconds, is_full(job) || waits.empty() ? 0 : waits[stage], factor, overlap);
    }
  }
  for (double& seconds : times.fused) seconds *= smallest;
  return times;
}

// What full detail adds. Of a fused pair it is not said here who waits.
void add_calls(const Job& job, std::uint32_t replica, const Copies& copies, LeastTimes& least,
               PassTimes& times) {
  for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage) {
    const Unit unit{replica, job.schedule.routes.device(stage, 0)};
    for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind) {
      if (times.of_stage[kind].empty()) continue;
      for (const workload::Call& call : job.costs.traffic[stage].inside[kind]) {
        const auto& party = copies.party(call.group, copies.party_of(call.group, unit));
        const double once = least.seconds({{&party.groups, call.collective, call.bytes}},
                                          job.conditions.communication.all_reduce);
        times.of_stage[kind][stage] += std::max(0.0, call.times * once - call.hides_under);
      }
    }
  }
}

// Hears of the passes of a replica.
class Follower {
 public:
  // `bare` times are without the collectives of full detail; null where there are none.
  Follower(const Job& job, const StageTalk& talk, const PassTimes* bare, Sweep& result)
      : job_(job), talk_(talk), bare_(bare), result_(result) {
    const schedules::Routes& routes = job.schedule.routes;
    const std::uint32_t all = job.schedule.total_microbatches();
    for (std::uint32_t route = 0; route < routes.count(); ++route)
      left_.insert(left_.end(), routes.stages(),
                   (all + routes.count() - 1 - route) / routes.count());
    result_.released.resize(job.schedule.devices);
    result_.posted.resize(job.schedule.stages());
  }

  void ended(std::uint32_t device, const PassSpan& span) {
    result_.end = std::max(result_.end, span.end);
    result_.released[device] = span.released;
  }
  // Whether it is the last to add to its stage's gradients.
  bool completes(const Pass& pass) {
    const schedules::Routes& routes = job_.schedule.routes;
    return ends_microbatch(pass.kind) &&
           --left_[routes.route_of(pass.microbatch) * routes.stages() + pass.stage] == 0;
  }
  // Calls posted(part, time) as the gradients of a pass become whole, from the last layer on.
  template <class Posted>
  void parts(const Pass& pass, const PassSpan& span, Posted&& posted) const {
    const std::uint32_t parts = talk_.parts[pass.stage];
    // Collectives between the layers may come all at the end.
    const double work = bare_ != nullptr ? (*bare_)(pass) : span.end - span.start;
    for (std::uint32_t part = 0; part < parts; ++part)
      posted(part, job_.conditions.communication.overlap_grad_reduce
                       ? span.start + work * (part + 1) / parts
                       : span.released);
  }
  void post(const Pass& pass, const PassSpan& span) {
    auto& posted = result_.posted[pass.stage];
    parts(pass, span, [&](std::uint32_t part, double time) {
      if (posted.size() <= part) posted.resize(part + 1);
      posted[part] = std::max(posted[part], time);
    });
  }

 private:
  const Job& job_;
  const StageTalk& talk_;
  const PassTimes* bare_;
  Sweep& result_;
  std::vector<std::uint32_t> left_;  // by route and stage
};

}  // namespace

StageTalk::StageTalk(const Job& job, const Copies& copies, LeastTimes& least) {
  const std::uint32_t stages = job.schedule.stages();
  parts.resize(stages);
  gradients.resize(stages);
  weights.resize(stages);
  if (job.costs.traffic.empty()) return;
  const config::Algorithm all_reduce = job.conditions.communication.all_reduce;
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    if (!copies.has(stage)) continue;
    parts[stage] = copies.parts(stage);
    gradients[stage] = least.seconds(copies.gradients(stage), all_reduce);
    if (job.conditions.zero > 0) weights[stage] = least.seconds(copies.weights(stage), all_reduce);
  }
  if (!job.conditions.gathers_before()) return;
  // Those who hold the same stages gather them in order.
  weights_arrive.resize(stages);
  for (std::uint32_t stage = 0; stage < stages; ++stage)
    for (std::uint32_t before = 0; before <= stage && parts[stage] > 0; ++before)
      if (copies.holders(before) == copies.holders(stage)) weights_arrive[stage] += weights[before];
}

Sweep sweep(const Job& job, std::uint32_t replica, const Copies& copies, const StageTalk& talk,
            LeastTimes& least) {
  const schedules::HopTimes hops = hops_of(job, replica, least);
  const PassTimes bare = slowed_times(job, replica);
  PassTimes times = bare;
  const bool adds = is_full(job) && job.ranks && !job.costs.traffic.empty() &&
                    !schedules::has_fused_pairs(job.schedule);
  if (adds) add_calls(job, replica, copies, least, times);

  Sweep result;
  Follower follower(job, talk, adds ? &bare : nullptr, result);
  schedules::Timing timing(job.schedule, times, hops, job.p2p);
  if (!talks_between_passes(job)) {
    timing.hold_forwards(talk.weights_arrive);
    timing.run([&](std::uint32_t device, const Pass& pass, const PassSpan& span) {
      follower.ended(device, span);
      if (follower.completes(pass)) follower.post(pass, span);
    });
    return result;
  }
  std::vector<DeviceStream> of_device;
  for (std::uint32_t device = 0; device < job.schedule.devices; ++device)
    of_device.emplace_back(job, device, talk);
  timing.run(
      [&](std::uint32_t device, const Pass& pass, const PassSpan& span) {
        follower.ended(device, span);
        DeviceStream& stream = of_device[device];
        stream.started(pass, span.start);
        if (ends_microbatch(pass.kind))
          follower.parts(pass, span, [&](std::uint32_t, double posted) {
            stream.add(posted, talk.gradients[pass.stage]);
          });
      },
      [&](std::uint32_t device, const Pass& pass) { return of_device[device].arrival(pass); });
  for (const DeviceStream& stream : of_device) result.stream_end.push_back(stream.end());
  return result;
}

}  // namespace pipewright::execution
