#include "sim/execution/timing/replica_timeline.hpp"

#include <algorithm>

#include "schedules/timing.hpp"
#include "sim/execution/exposed_time.hpp"

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;
using schedules::PassSpan;

namespace {

schedules::HopTimes hops_of(const Job& job, std::uint32_t replica, LeastTimes& least) {
  schedules::HopTimes hops(0);
  for (const auto& [a, b] : job.schedule.routes.neighbours())
    hops.set(a, b, least.hop({replica, a}, b, job.costs.boundary_bytes));
  return hops;
}

}  // namespace

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
                           const StageCollectives& collectives, double start, TimingRows* rows,
                           CollectiveSpans* spans)
    : job_(job),
      collectives_(collectives),
      device_(device),
      rows_(rows),
      spans_(spans),
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
      if (!job_.conditions.gathers_for(pass.kind)) continue;
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

// Follows the passes, and knows what falls due while they run.
class ReplicaTimeline::Follower {
 public:
  Follower(const ReplicaTimeline& timeline, const Begin& begin, TimingRows* rows, Passes& result)
      : timeline_(timeline),
        job_(timeline.job_),
        collectives_(timeline.collectives_),
        begin_(begin),
        beside_(begin.beside),
        rows_(rows),
        result_(result) {
    result_.released = begin.devices;
    result_.gathering.resize(job_.schedule.devices);
    if (!collectives_.any) return;
    const schedules::Routes& routes = job_.schedule.routes;
    const std::uint32_t all = job_.schedule.total_microbatches();
    for (std::uint32_t route = 0; route < routes.count(); ++route)
      left_.insert(left_.end(), routes.stages(),
                   (all + routes.count() - 1 - route) / routes.count());
    fetched_.resize(std::size_t{job_.schedule.devices} * job_.schedule.stages());
    for (std::uint32_t device = 0; reduces_between_passes(job_) && device < job_.schedule.devices;
         ++device)
      streams_.emplace_back(job_, device, collectives_, free_from(device), rows,
                            beside_.empty() ? nullptr : &beside_[device]);
  }

  // How a pass, or a fused pair, runs that could start at `ready`.
  schedules::Timing::Run run(std::uint32_t device, const Pass& pass, const Pass* partner,
                             double ready) {
    const PassWork work = timeline_.work(device, pass, partner, begin_.first_microbatch);
    const double compute = work.seconds;
    const double seconds = std::max(
        compute + (has_calls_
                       ? timeline_.waits(device, pass, partner, work, begin_.first_microbatch)
                       : 0),
        work.least);
    if (!collectives_.any) return {ready, seconds};
    const Pass* last = nullptr;
    for (const Pass* one : {&pass, partner})
      if (one != nullptr && completes(*one)) last = one;
    last_ = last == nullptr ? std::nullopt : std::optional(*last);
    const bool overlaps = job_.conditions.communication.overlap_grad_reduce;
    const std::uint32_t gradients =
        last != nullptr && overlaps ? collectives_.parts[last->stage] : 0;
    const std::uint32_t weights = weight_parts(device, pass);
    const std::uint32_t of_partner = partner == nullptr ? 0 : weight_parts(device, *partner);
    const bool has_milestones = gradients + weights + of_partner > 0;
    const bool slows =
        !beside_.empty() && (has_milestones || beside_[device].any_before(ready + seconds));
    const auto lost = [&](double time, double of_work) {
      return slows ? beside_[device].lost(time, of_work, work.excess) : 0;
    };
    if (!has_milestones) return {ready, seconds + lost(ready, seconds)};
    const Delays delays = walk(
        Milestones(gradients, weights, of_partner), ready, compute,
        [&](std::uint32_t part, double time) {
          post({device, last->stage, part, time});
        },
        [&](const Milestone& due, bool is_last, double time) {
          const Pass& one = due.of_partner ? *partner : pass;
          return gathers_
                     ? streams_[device].wait_for_weights(one, due, is_last, time)
                     : begin_.weights[one.stage] + (due.part + 1) * collectives_.weights[one.stage];
        },
        lost);
    result_.gathering[device] += delays.waited;
    return {ready + std::max(0.0, delays.waited + compute - seconds), seconds + delays.lost};
  }

  void ended(std::uint32_t device, const Pass& pass, const PassSpan& span) {
    result_.end = std::max(result_.end, span.end);
    result_.released[device] = span.released;
    if (rows_ != nullptr) rows_->pass(device, pass, span, timeline_.hops_);
    if (job_.conditions.communication.overlap_grad_reduce || last_ != pass) return;
    for (std::uint32_t part = 0; part < collectives_.parts[pass.stage]; ++part)
      post({device, pass.stage, part, span.released});
  }

  void finish() {
    for (const DeviceStream& stream : streams_) result_.stream_end.push_back(stream.end());
  }

 private:
  // When the weights that are gathered before the iteration are there: those of its stages one
  // after the other.
  double free_from(std::uint32_t device) const {
    double time = begin_.devices[device];
    if (begin_.weights.empty()) return time;
    for (std::uint32_t stage = 0; stage < job_.schedule.stages(); ++stage)
      if (job_.schedule.routes.device(stage, 0) == device)
        time = std::max(time, begin_.weights[stage] +
                                  collectives_.weight_parts[stage] * collectives_.weights[stage]);
    return time;
  }
  // Whether gradients are reduced after it: once it is the last to add to its stage's, or, where
  // they are sharded, always.
  bool completes(const Pass& pass) {
    if (!ends_microbatch(pass.kind)) return false;
    const schedules::Routes& routes = job_.schedule.routes;
    return --left_[routes.route_of(pass.microbatch) * routes.stages() + pass.stage] == 0 ||
           !streams_.empty();
  }
  std::uint32_t weight_parts(std::uint32_t device, const Pass& pass) {
    if (gathers_)
      return job_.conditions.gathers_for(pass.kind) ? collectives_.weight_parts[pass.stage] : 0;
    if (begin_.weights.empty()) return 0;
    const std::size_t place = std::size_t{device} * job_.schedule.stages() + pass.stage;
    if (fetched_[place]) return 0;
    fetched_[place] = true;
    return collectives_.weight_parts[pass.stage];
  }
  void post(const PartReady& one) {
    if (!streams_.empty()) return streams_[one.device].reduce_gradients(one.stage, one.time);
    if (begin_.adds_reductions) {
      const double start = std::max(one.time, beside_[one.device].end());
      beside_[one.device].add(start, start + collectives_.gradients[one.stage]);
    }
    result_.posts.push_back(one);
  }

  const ReplicaTimeline& timeline_;
  const Job& job_;
  const bool has_calls_ = !timeline_.calls_.empty();
  const StageCollectives& collectives_;
  const Begin& begin_;
  std::vector<CollectiveSpans> beside_;
  TimingRows* rows_;
  Passes& result_;
  bool gathers_ = job_.gathers_for_passes();
  std::optional<Pass> last_;           // of what runs: whose gradients are reduced after it
  std::vector<std::uint32_t> left_;    // by route and stage: microbatches
  std::vector<bool> fetched_;          // by device and stage: weights were waited for
  std::vector<DeviceStream> streams_;  // by device; none before ZeRO-2
};

ReplicaTimeline::ReplicaTimeline(const Job& job, std::uint32_t replica,
                                 const ReplicaGroups& replica_groups,
                                 const StageCollectives& collectives, LeastTimes& least)
    : job_(job),
      replica_(replica),
      replica_groups_(replica_groups),
      collectives_(collectives),
      least_(least),
      hops_(hops_of(job, replica, least)) {
  if (!job.microbatches_vary()) add_works();
  if (job.has_full_detail() && job.ranks) add_calls();
}

void ReplicaTimeline::add_works() {
  const schedules::Routes& routes = job_.schedule.routes;
  for (std::uint32_t route = 0; route < routes.count(); ++route) {
    Works& works = works_.emplace_back();
    for (std::size_t kind = 0; kind < works.size(); ++kind)
      for (std::uint32_t stage = 0; stage < job_.costs.times.of_stage[kind].size(); ++stage) {
        const Pass pass{static_cast<PassKind>(kind), static_cast<std::uint16_t>(stage), route};
        works[kind].push_back(
            work_of(job_, replica_groups_, {replica_, routes.device(stage, route)}, pass, nullptr));
      }
  }
}

ReplicaTimeline::Calls ReplicaTimeline::timed(const std::vector<workload::Call>& calls,
                                              ReplicaDevice who) const {
  Calls timed;
  for (const workload::Call& call : calls) {
    const double once =
        least_.seconds({replica_groups_.op(call, who)}, job_.conditions.communication.all_reduce);
    timed.all.push_back(
        {.seconds = call.times * once,
         .beside = call.overlappable_compute,
         .dispatch = call.is_dispatch() ? std::optional(job_.costs.half_of(call)) : std::nullopt});
    timed.beside += call.overlappable_compute;
  }
  return timed;
}

void ReplicaTimeline::add_calls() {
  for (std::uint32_t stage = 0; stage < job_.costs.traffic.size(); ++stage) {
    const ReplicaDevice who{replica_, job_.schedule.routes.device(stage, 0)};
    auto& of_kinds = calls_.emplace_back();
    for (std::size_t kind = 0; kind < of_kinds.size(); ++kind)
      of_kinds[kind] = timed(job_.costs.traffic[stage].inside[kind], who);
  }
}

const ReplicaTimeline::Calls& ReplicaTimeline::calls_in(std::uint32_t device, Pass pass,
                                                        std::uint32_t first_microbatch,
                                                        Calls& own) const {
  if (!job_.uneven) return calls_[pass.stage][static_cast<std::size_t>(pass.kind)];
  pass.microbatch += first_microbatch;
  const ReplicaDevice who{replica_, device};
  own = timed(calls_of(job_, replica_groups_, who, pass), who);
  return own;
}

PassWork ReplicaTimeline::work(std::uint32_t device, Pass pass, const Pass* partner,
                               std::uint32_t first_microbatch) const {
  if (partner == nullptr && !works_.empty())
    return works_[job_.schedule.routes.route_of(pass.microbatch)]
                 [static_cast<std::size_t>(pass.kind)][pass.stage];
  pass.microbatch += first_microbatch;
  if (partner == nullptr) return work_of(job_, replica_groups_, {replica_, device}, pass, nullptr);
  Pass other = *partner;
  other.microbatch += first_microbatch;
  return work_of(job_, replica_groups_, {replica_, device}, pass, &other);
}

// As add_exposed_time() has it. Of a fused pair whose time is given it is not said who waits.
double ReplicaTimeline::waits(std::uint32_t device, const Pass& pass, const Pass* partner,
                              const PassWork& work, std::uint32_t first_microbatch) const {
  if (partner != nullptr && job_.costs.times.says_pairs()) return 0;
  Calls own;
  const Calls& calls = calls_in(device, pass, first_microbatch, own);
  if (partner != nullptr) {
    Calls of_partner;
    return pair_waits(calls, calls_in(device, *partner, first_microbatch, of_partner), work);
  }
  const double share = calls.beside > work.seconds ? work.seconds / calls.beside : 1;
  double waited = 0;
  for (const Calls::One& one : calls.all)
    waited += hidden(one.seconds, one.beside * share, 1 + work.excess).waits;
  return waited;
}

double ReplicaTimeline::pair_waits(const Calls& of_pass, const Calls& of_partner,
                                   const PassWork& work) {
  const double slowdown = 1 + work.excess;
  double beside = 0;  // of the stream with the kernels
  for (const Calls* const of_one : {&of_pass, &of_partner})
    for (const Calls::One& call : of_one->all) beside += call.dispatch ? 0 : call.beside;
  const double share = beside > work.seconds ? work.seconds / beside : 1;
  std::array<StreamHalves, 2> streams = work.streams;
  for (const std::size_t i : {0U, 1U})
    for (const Calls::One& call : (i == 0 ? of_pass : of_partner).all) {
      if (call.dispatch) {
        StreamWork& half = streams[i][*call.dispatch];
        half.dispatch += call.seconds;
        half.exposed += hidden(call.seconds, call.beside, slowdown).waits;
      } else {
        streams[i][0].compute += hidden(call.seconds, call.beside * share, slowdown).waits;
      }
    }
  return paired_seconds(streams[0], streams[1], slowdown) - work.seconds;
}

ReplicaTimeline::Passes ReplicaTimeline::run(const Begin& begin, TimingRows* rows) const {
  Passes result;
  Follower follower(*this, begin, rows, result);
  schedules::Timing timing(job_.schedule, job_.costs.times, hops_, job_.p2p);
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
    timing.start_at(device, begin.devices[device]);
  timing.run([&](std::uint32_t device, const Pass& pass,
                 const PassSpan& span) { follower.ended(device, pass, span); },
             [&](std::uint32_t device, const Pass& pass, const Pass* partner, double ready) {
               return follower.run(device, pass, partner, ready);
             });
  follower.finish();
  return result;
}

}  // namespace pipewright::execution
