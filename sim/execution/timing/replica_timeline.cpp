#include "sim/execution/timing/replica_timeline.hpp"

#include <algorithm>

#include "schedules/timing.hpp"
#include "sim/execution/exposed_time.hpp"
#include "sim/workload/by_stage.hpp"

namespace pipewright::execution {

using schedules::Pass;
using schedules::PassKind;
using schedules::PassSpan;

namespace {

schedules::HopTimes hops_of(const Job& job, std::uint32_t replica, LeastTimes& least_times) {
  schedules::HopTimes hops(0);
  hops.barriers = job.costs.exchanges();
  for (const auto& [a, b] : job.schedule.routes.neighbours())
    hops.set(a, b, least_times.hop({replica, a}, b, job.costs.boundary_bytes));
  return hops;
}

}  // namespace

using schedules::Pass;

StageCollectives::StageCollectives(const Job& job, const ReplicaGroups& replica_groups,
                                   LeastTimes& least_times) {
  const std::uint32_t stages = job.schedule.stages();
  parts.resize(stages);
  weight_parts.resize(stages);
  weight_parts_ahead.resize(stages, 1);
  for (std::vector<double>* const seconds :
       {&gradients, &weights, &shard_gradients, &shard_weights})
    seconds->resize(stages);
  if (job.costs.traffic.empty()) return;
  const config::Algorithm all_reduce = job.conditions.communication.all_reduce;
  const auto seconds = [&](const std::vector<CollectiveOp>& ops) {
    return least_times.seconds(ops, all_reduce);
  };
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    if (!replica_groups.has(stage)) continue;
    has_shared_stages = true;
    parts[stage] = replica_groups.parts(stage);
    gradients[stage] = seconds(replica_groups.gradients(stage));
    shard_gradients[stage] = seconds(replica_groups.gradients(stage, false));
    if (job.conditions.zero == 0) continue;
    weight_parts[stage] = replica_groups.weight_parts(stage);
    weight_parts_ahead[stage] = replica_groups.parts_ahead(stage);
    weights[stage] = seconds(replica_groups.weights(stage));
    shard_weights[stage] = seconds(replica_groups.weights(stage, false));
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

void DeviceStream::request(Requested& requested, std::uint32_t stage, double time) {
  const double seconds =
      (requested.with_copies ? collectives_.weights : collectives_.shard_weights)[stage] +
      (requested.times - 1) * collectives_.shard_weights[stage];
  add(trace::CollectiveKind::gather_weights, stage, time, seconds);
  requested.arrivals.push_back(end_);
}

void DeviceStream::prefetch(double time) {
  for (bool is_requested = false; !ahead_.done() && !is_requested; ahead_.next()) {
    const bool fused = ahead_.pass().fused;
    for (std::size_t i = 0; i < (fused ? 2 : 1); ++i) {
      if (i == 1) ahead_.next();
      const Pass pass = ahead_.pass();
      if (!job_.conditions.gathers_for(pass.kind) || collectives_.weight_parts[pass.stage] == 0)
        continue;
      requested_[i] = {.with_copies = gathered_once_.insert(pass.stage).second,
                       .times = job_.conditions.gathers_in(pass.kind),
                       .arrivals = {}};
      const std::uint32_t parts = std::min(collectives_.weight_parts[pass.stage],
                                           collectives_.weight_parts_ahead[pass.stage]);
      for (std::uint32_t part = 0; part < parts; ++part) request(requested_[i], pass.stage, time);
      is_requested = true;
    }
  }
}

double DeviceStream::wait_for_weights(const Pass& pass, const Milestone& milestone, bool is_last,
                                      double now) {
  Requested& requested = requested_[milestone.of_partner ? 1 : 0];
  const double available = requested.arrivals.front();
  requested.arrivals.pop_front();
  now = std::max(now, available);
  if (rows_ != nullptr && milestone.part == 0) rows_->hold_weights(device_, pass.stage, now);
  if (milestone.part + collectives_.weight_parts_ahead[pass.stage] < milestone.parts)
    request(requested, pass.stage, now);
  if (is_last) prefetch(now);
  return available;
}

StageGathers::StageGathers(const Job& job, std::uint32_t device,
                           const ReplicaGroups& replica_groups, const StageCollectives& collectives,
                           double start, TimingRows* rows, CollectiveSpans* spans)
    : collectives_(collectives),
      device_(device),
      rows_(rows),
      stream_(job, device, collectives, start, rows, spans),
      unshards_(replica_groups.unshard_plan(device)),
      begin_(job.schedule.stages()),
      parts_(job.schedule.stages()) {}

void StageGathers::change(const schedules::UnshardStep* step, double time) {
  if (step == nullptr) return;
  if (rows_ != nullptr) rows_->change_weights(device_, *step, time);
  for (const std::uint16_t stage : step->unshard) {
    begin_[stage] = std::max(stream_.end(), time);
    parts_[stage] = collectives_.weight_parts[stage];
    for (std::uint32_t part = 0; part < parts_[stage]; ++part) stream_.gather_weights(stage, time);
  }
}

// Computes the passes of a replica one by one, with the reductions and weights at their milestones.
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
    for (std::uint32_t device = 0; job_.reshards_stages() && device < job_.schedule.devices;
         ++device)
      stage_gathers_.emplace_back(job_, device, timeline.replica_groups_, collectives_,
                                  begin_.devices[device], rows, spans_beside(device));
    if (!collectives_.has_shared_stages) return;
    const schedules::Routes& routes = job_.schedule.routes;
    const std::uint32_t microbatches = job_.schedule.total_microbatches();
    remaining_.resize(std::size_t{job_.schedule.devices} * routes.stages());
    for (std::uint32_t route = 0; route < routes.count(); ++route)
      for (std::uint32_t stage = 0; stage < routes.stages(); ++stage)
        remaining_[place_of(stage, route)] +=
            workload::microbatches_of(routes, route, microbatches) *
            job_.schedule.gradient_passes(stage);
    fetched_.resize(std::size_t{job_.schedule.devices} * job_.schedule.stages());
    for (std::uint32_t device = 0; reduces_between_passes(job_) && device < job_.schedule.devices;
         ++device)
      streams_.emplace_back(job_, device, collectives_, free_from(device), rows,
                            spans_beside(device));
  }

  // Start and duration of a pass or a fused pair that may start at `ready` at the earliest.
  schedules::Timing::Run run(std::uint32_t device, const Pass& pass, const Pass* partner,
                             double ready) {
    if (!stage_gathers_.empty()) stage_gathers_[device].before_pass(result_.released[device]);
    const PassWork work = timeline_.work(device, pass, partner, begin_.first_microbatch);
    const double compute = work.seconds;
    const double seconds = std::max(
        compute + (has_calls_
                       ? timeline_.waits(device, pass, partner, work, begin_.first_microbatch)
                       : 0),
        work.min_seconds);
    if (!collectives_.has_shared_stages) return {ready, seconds};
    const Pass* reducing_pass = nullptr;
    for (const Pass* member : {&pass, partner})
      if (member != nullptr && completes(*member)) reducing_pass = member;
    last_ = reducing_pass == nullptr ? std::nullopt : std::optional(*reducing_pass);
    const bool overlaps = job_.conditions.communication.overlap_grad_reduce;
    const std::uint32_t gradients =
        reducing_pass != nullptr && overlaps ? collectives_.parts[reducing_pass->stage] : 0;
    const std::uint32_t weights = weight_parts(device, pass);
    const std::uint32_t partner_weights = partner == nullptr ? 0 : weight_parts(device, *partner);
    const bool has_milestones = gradients + weights + partner_weights > 0;
    const bool slows =
        !beside_.empty() && (has_milestones || beside_[device].has_before(ready + seconds));
    const auto lost = [&](double time, double compute_seconds) {
      return slows ? beside_[device].lost(time, compute_seconds, work.excess) : 0;
    };
    if (!has_milestones) return {ready, seconds + lost(ready, seconds)};
    const Delays delays = walk_compute(
        Milestones(gradients, weights, partner_weights), ready, compute,
        [&](std::uint32_t part, double time) {
          post({device, reducing_pass->stage, part, time});
        },
        [&](const Milestone& due, bool is_last, double time) {
          const Pass& member = due.of_partner ? *partner : pass;
          if (gathers_) return streams_[device].wait_for_weights(member, due, is_last, time);
          if (!stage_gathers_.empty())
            return stage_gathers_[device].arrival(member.stage, due.part);
          return begin_.weights[member.stage] + (due.part + 1) * collectives_.weights[member.stage];
        },
        lost);
    result_.gathering[device] += delays.waited;
    return {ready + std::max(0.0, delays.waited + compute - seconds), seconds + delays.lost};
  }

  void ended(std::uint32_t device, const Pass& pass, const PassSpan& span) {
    result_.end = std::max(result_.end, span.end);
    result_.released[device] = span.released;
    if (rows_ != nullptr) rows_->pass(device, pass, span, timeline_.hops_);
    if (!stage_gathers_.empty()) stage_gathers_[device].after_pass(span.released);
    if (job_.conditions.communication.overlap_grad_reduce || last_ != pass) return;
    for (std::uint32_t part = 0; part < collectives_.parts[pass.stage]; ++part)
      post({device, pass.stage, part, span.released});
  }

  void finish() {
    for (const DeviceStream& stream : streams_) result_.stream_end.push_back(stream.end());
  }

 private:
  // Periods of collectives beside the device's passes; null: collectives do not slow down passes.
  CollectiveSpans* spans_beside(std::uint32_t device) {
    return beside_.empty() ? nullptr : &beside_[device];
  }
  // Time at which the device has all weights that are gathered before the iteration. Stages are
  // gathered one after the other.
  double free_from(std::uint32_t device) const {
    double time = begin_.devices[device];
    if (begin_.weights.empty()) return time;
    for (std::uint32_t stage = 0; stage < job_.schedule.stages(); ++stage)
      if (job_.schedule.routes.device(stage, 0) == device)
        time = std::max(time, begin_.weights[stage] +
                                  collectives_.weight_parts[stage] * collectives_.weights[stage]);
    return time;
  }
  // True if the pass is followed by a reduction of gradients: the last pass that adds to its
  // stage's gradients or, with sharded gradients, every such pass. Must be called once for each
  // pass.
  bool completes(const Pass& pass) {
    if (!adds_weight_gradients(pass.kind)) return false;
    return --remaining_[place_of(pass.stage, pass.microbatch)] == 0 ||
           (!streams_.empty() && ends_microbatch(pass.kind));
  }
  // Index of a stage on the device that runs it for a microbatch.
  std::size_t place_of(std::uint32_t stage, std::uint32_t microbatch) const {
    const schedules::Routes& routes = job_.schedule.routes;
    return std::size_t{routes.device(stage, microbatch)} * routes.stages() + stage;
  }
  // True if no later pass adds to the gradients of a stage.
  bool is_complete(std::uint32_t stage) const {
    for (std::size_t i = stage; i < remaining_.size(); i += job_.schedule.stages())
      if (remaining_[i] > 0) return false;
    return true;
  }
  std::uint32_t weight_parts(std::uint32_t device, const Pass& pass) {
    if (gathers_)
      return job_.conditions.gathers_for(pass.kind) ? collectives_.weight_parts[pass.stage] : 0;
    if (!stage_gathers_.empty()) return stage_gathers_[device].take_parts(pass.stage);
    if (begin_.weights.empty()) return 0;
    const std::size_t index = std::size_t{device} * job_.schedule.stages() + pass.stage;
    if (fetched_[index]) return 0;
    fetched_[index] = true;
    return collectives_.weight_parts[pass.stage];
  }
  void post(const PartReady& part) {
    if (!streams_.empty())
      return streams_[part.device].reduce_gradients(part.stage, is_complete(part.stage), part.time);
    if (begin_.adds_reductions) {
      const double start = std::max(part.time, beside_[part.device].end());
      beside_[part.device].add(start, start + collectives_.gradients[part.stage]);
    }
    result_.posts.push_back(part);
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
  std::optional<Pass> last_;                 // running pass that a reduction follows
  std::vector<std::uint32_t> remaining_;     // microbatches by device and stage
  std::vector<bool> fetched_;                // by device and stage: weights were waited for
  std::vector<DeviceStream> streams_;        // by device; empty before ZeRO-2
  std::vector<StageGathers> stage_gathers_;  // by device; empty: no stage is resharded
};

ReplicaTimeline::ReplicaTimeline(const Job& job, std::uint32_t replica,
                                 const ReplicaGroups& replica_groups,
                                 const StageCollectives& collectives, LeastTimes& least_times)
    : job_(job),
      replica_(replica),
      replica_groups_(replica_groups),
      collectives_(collectives),
      least_times_(least_times),
      hops_(hops_of(job, replica, least_times)) {
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

ReplicaTimeline::Calls ReplicaTimeline::time_calls(
    const std::vector<workload::Call>& workload_calls, ReplicaDevice copy) const {
  Calls timed;
  for (const workload::Call& call : workload_calls) {
    const double call_seconds = least_times_.seconds({replica_groups_.op(call, copy)},
                                                     job_.conditions.communication.all_reduce);
    timed.calls.push_back({.seconds = call.times * call_seconds,
                           .overlappable = call.overlappable_compute,
                           .half = job_.half_in_pair(call)});
    timed.overlappable += call.overlappable_compute;
  }
  return timed;
}

void ReplicaTimeline::add_calls() {
  for (std::uint32_t stage = 0; stage < job_.costs.traffic.size(); ++stage) {
    const ReplicaDevice copy{replica_, job_.schedule.routes.device(stage, 0)};
    auto& calls_by_kind = calls_.emplace_back();
    for (std::size_t kind = 0; kind < calls_by_kind.size(); ++kind)
      calls_by_kind[kind] = time_calls(job_.costs.traffic[stage].inside[kind], copy);
  }
}

const ReplicaTimeline::Calls& ReplicaTimeline::calls_in(std::uint32_t device, Pass pass,
                                                        std::uint32_t first_microbatch,
                                                        Calls& buffer) const {
  if (!job_.uneven) return calls_[pass.stage][static_cast<std::size_t>(pass.kind)];
  pass.microbatch += first_microbatch;
  const ReplicaDevice copy{replica_, device};
  buffer = time_calls(calls_of(job_, replica_groups_, copy, pass), copy);
  return buffer;
}

PassWork ReplicaTimeline::work(std::uint32_t device, Pass pass, const Pass* partner,
                               std::uint32_t first_microbatch) const {
  if (partner == nullptr && !works_.empty())
    return works_[job_.schedule.routes.route_of(pass.microbatch)]
                 [static_cast<std::size_t>(pass.kind)][pass.stage];
  pass.microbatch += first_microbatch;
  if (partner == nullptr) return work_of(job_, replica_groups_, {replica_, device}, pass, nullptr);
  Pass shifted_partner = *partner;
  shifted_partner.microbatch += first_microbatch;
  return work_of(job_, replica_groups_, {replica_, device}, pass, &shifted_partner);
}

// Seconds that simulated collectives add to a pass or a fused pair: those that its compute does not
// hide, by the rules of add_exposed_time(). 0 for a fused pair whose time is given, as the waits of
// each of its passes are unknown.
double ReplicaTimeline::waits(std::uint32_t device, const Pass& pass, const Pass* partner,
                              const PassWork& work, std::uint32_t first_microbatch) const {
  if (partner != nullptr && job_.costs.times.has_pair_times()) return 0;
  Calls buffer;
  const Calls& calls = calls_in(device, pass, first_microbatch, buffer);
  if (partner != nullptr) {
    Calls partner_buffer;
    return pair_waits(calls, calls_in(device, *partner, first_microbatch, partner_buffer), work);
  }
  const double share = calls.overlappable > work.seconds ? work.seconds / calls.overlappable : 1;
  double waited = 0;
  for (const Calls::TimedCall& call : calls.calls)
    waited += hidden(call.seconds, call.overlappable * share, 1 + work.excess).waits;
  return waited;
}

double ReplicaTimeline::pair_waits(const Calls& pass_calls, const Calls& partner_calls,
                                   const PassWork& work) {
  const double slowdown = 1 + work.excess;
  double overlappable = 0;  // compute of the kernel stream that collectives overlap with
  for (const Calls* const member : {&pass_calls, &partner_calls})
    for (const Calls::TimedCall& call : member->calls)
      overlappable += call.half ? 0 : call.overlappable;
  const double share = overlappable > work.seconds ? work.seconds / overlappable : 1;
  std::array<StreamHalves, 2> streams = work.streams;
  for (const std::size_t i : {0U, 1U})
    for (const Calls::TimedCall& call : (i == 0 ? pass_calls : partner_calls).calls) {
      if (call.half) {
        StreamWork& half = streams[i][*call.half];
        half.dispatch += call.seconds;
        half.exposed += hidden(call.seconds, call.overlappable, slowdown).waits;
      } else {
        streams[i][0].compute += hidden(call.seconds, call.overlappable * share, slowdown).waits;
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
