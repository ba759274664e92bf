#include "sim/execution/timing/iteration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

#include "sim/execution/same_time.hpp"

namespace pipewright::execution {

// Computes when the collectives run that reduce or gather stages over replicas, one for each part
// of a stage. A collective starts when the last of its devices is ready and previous collectives on
// the same devices have ended.
class CollectiveQueue {
 public:
  // `parts` is the number of parts by stage, `seconds` the duration of each part.
  CollectiveQueue(const ReplicaGroups& replica_groups, std::uint32_t devices,
                  const std::vector<std::uint32_t>& parts, const std::vector<double>& seconds)
      : replica_groups_(replica_groups), seconds_(seconds), streams_(devices), ends_(parts.size()) {
    std::size_t total = 0;
    for (const std::uint32_t count : parts) {
      first_.push_back(total);
      total += count;
    }
    index_in_stream_.resize(total, none);
  }

  // Records when a device of a simulated replica, given by its index, is ready for its collective.
  // The device gets a trace row for it if `reported`.
  void ready(const PartReady& part, std::size_t replica, bool reported) {
    std::vector<Collective>& stream = streams_[replica_groups_.holders(part.stage).front()];
    std::size_t& index = index_in_stream_[first_[part.stage] + part.part];
    if (index == none) {
      index = stream.size();
      stream.push_back({.stage = part.stage,
                        .number = count_++,
                        .ready = part.time,
                        .last = {replica, part.device}});
    } else if (part.time > stream[index].ready) {
      stream[index].ready = part.time;
      stream[index].last = {replica, part.device};
    }
    if (reported) posts_.push_back({part.device, stream[index].number, part.time});
  }

  // Sorting is fast: devices have few collectives in common, and these are mostly in order already.
  void run() {
    for (std::vector<Collective>& stream : streams_) {
      std::ranges::stable_sort(stream, {}, &Collective::ready);
      double busy = 0;
      for (Collective& collective : stream) {
        collective.start = std::max(busy, collective.ready);
        ends_[collective.stage] = collective.end = busy =
            collective.start + seconds_[collective.stage];
      }
    }
  }

  // Time at which the collective of a stage's last part ends.
  double end(std::uint32_t stage) const { return ends_[stage]; }

  std::vector<double> starts() const {
    std::vector<double> starts;
    for (const std::vector<Collective>& stream : streams_)
      for (const Collective& collective : stream) starts.push_back(collective.start);
    return starts;
  }
  void add_to(std::vector<CollectiveSpans>& beside) const {
    for (const std::vector<Collective>& stream : streams_)
      for (const Collective& collective : stream)
        for (const std::uint32_t device : replica_groups_.holders(collective.stage))
          beside[device].add(collective.start, collective.end);
  }

  // `replicas` are the numbers of the simulated replicas; the first one is reported.
  void report(trace::CollectiveKind kind, const std::vector<std::uint32_t>& replicas,
              TimingRows& rows) const {
    std::vector<const Collective*> collectives(count_);
    for (const std::vector<Collective>& stream : streams_)
      for (const Collective& collective : stream) collectives[collective.number] = &collective;
    std::ranges::stable_sort(collectives, {}, &Collective::ready);
    std::vector<std::vector<const Post*>> posts(count_);
    for (const Post& post : posts_) posts[post.collective].push_back(&post);
    for (const Collective* collective : collectives) {
      if (collective->last.replica > 0)
        rows.wait({.event = kind == trace::CollectiveKind::gather_weights
                                ? trace::WaitEvent::gather_weights
                                : trace::WaitEvent::reduce_gradients,
                   .stage = collective->stage,
                   .replica = replicas[collective->last.replica],
                   .device = collective->last.device,
                   .time = collective->ready});
      for (const Post* post : posts[collective->number])
        rows.collective({.device = post->device,
                         .stage = collective->stage,
                         .kind = kind,
                         .posted = post->time,
                         .start = collective->start,
                         .end = collective->end});
    }
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  struct Member {
    std::size_t replica = 0;  // index of a simulated replica
    std::uint32_t device = 0;
  };
  struct Collective {
    std::uint32_t stage = 0;
    std::size_t number = 0;  // in the order in which the first device is ready
    double ready = 0;        // time at which the last member is ready
    Member last;             // the first reported member if several are last
    double start = 0;
    double end = 0;
  };
  struct Post {
    std::uint32_t device = 0;
    std::size_t collective = 0;  // number of the collective
    double time = 0;
  };

  const ReplicaGroups& replica_groups_;
  const std::vector<double>& seconds_;
  std::vector<std::size_t> first_;            // by stage: begin of its parts in index_in_stream_
  std::vector<std::size_t> index_in_stream_;  // by stage and part
  std::vector<std::vector<Collective>> streams_;  // by the first of the devices
  std::size_t count_ = 0;
  std::vector<Post> posts_;
  std::vector<double> ends_;
};

namespace {

std::uint32_t first_stage(const schedules::Routes& routes, std::uint32_t device) {
  std::uint32_t stage = 0;
  const auto is_on_device = [&](std::uint32_t route) {
    return routes.device(stage, route) == device;
  };
  while (!std::ranges::any_of(std::views::iota(0U, routes.count()), is_on_device)) ++stage;
  return stage;
}

}  // namespace

TimedIterations::TimedIterations(const Job& job, std::vector<std::uint32_t> replicas,
                                 const ReplicaGroups& replica_groups, LeastTimes& least_times,
                                 TimingRows* rows)
    : job_(job),
      replicas_(std::move(replicas)),
      replica_groups_(replica_groups),
      least_times_(least_times),
      rows_(rows),
      collectives_(job, replica_groups, least_times),
      stages_(job.schedule.devices),
      free_(replicas_.size(), ByDevice(job.schedule.devices)) {
  for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage)
    if (collectives_.parts[stage] > 0)
      for (const std::uint32_t device : replica_groups.holders(stage))
        stages_[device].push_back(stage);
  slows_ = collectives_.has_shared_stages && job.has_overlap_slowdown();
  is_single_replica_enough_ = replicas_.size() == 1;
  for (std::uint32_t stage = 0; slows_ && stage < job.schedule.stages(); ++stage)
    is_single_replica_enough_ =
        is_single_replica_enough_ && replica_groups.holders(stage).size() == 1;
  for (const std::uint32_t replica : replicas_)
    timelines_.emplace_back(job, replica, replica_groups, collectives_, least_times);
}

// Time at which the gathering of each stage's first part starts. Devices with the same stages
// gather them in order. Empty where weights are not gathered before passes.
std::vector<double> TimedIterations::begin_gathers() const {
  std::vector<double> begin;
  if (!collectives_.has_shared_stages || !job_.conditions.gathers_before()) return begin;
  begin.resize(job_.schedule.stages());
  std::vector<double> busy(job_.schedule.devices);
  for (std::uint32_t stage = 0; stage < job_.schedule.stages(); ++stage) {
    if (collectives_.weight_parts[stage] == 0) continue;
    const std::vector<std::uint32_t>& holders = replica_groups_.holders(stage);
    begin[stage] = busy[holders.front()];
    for (const ByDevice& replica : free_)
      for (const std::uint32_t device : holders)
        begin[stage] = std::max(begin[stage], replica[device]);
    busy[holders.front()] =
        begin[stage] + collectives_.weight_parts[stage] * collectives_.weights[stage];
  }
  return begin;
}

void TimedIterations::report_gathers(const std::vector<double>& begin) const {
  for (std::uint32_t first = 0; first < job_.schedule.devices; ++first)
    for (const std::uint32_t stage : stages_[first]) {
      const std::vector<std::uint32_t>& holders = replica_groups_.holders(stage);
      if (holders.front() != first) continue;
      report_last(trace::WaitEvent::gather_weights, stage, free_, holders);
      for (std::uint32_t part = 0; part < collectives_.weight_parts[stage]; ++part)
        for (const std::uint32_t device : holders)
          rows_->collective({.device = device,
                             .stage = stage,
                             .kind = trace::CollectiveKind::gather_weights,
                             .posted = free_.front()[device],
                             .start = begin[stage] + part * collectives_.weights[stage],
                             .end = begin[stage] + (part + 1) * collectives_.weights[stage]});
    }
}

// Periods in which weights are gathered beside the passes of each device.
std::vector<CollectiveSpans> TimedIterations::gathers_beside(
    const std::vector<double>& begin) const {
  std::vector<CollectiveSpans> beside(job_.schedule.devices);
  for (std::uint32_t stage = 0; stage < begin.size(); ++stage)
    if (collectives_.weight_parts[stage] > 0)
      for (const std::uint32_t device : replica_groups_.holders(stage))
        beside[device].add(begin[stage], begin[stage] + collectives_.weight_parts[stage] *
                                                            collectives_.weights[stage]);
  return beside;
}

void TimedIterations::run_passes(ReplicaTimeline::Begin begin, TimingRows* rows) {
  passes_.clear();
  for (std::size_t i = 0; i < timelines_.size(); ++i) {
    begin.devices = free_[i];
    passes_.push_back(timelines_[i].run(begin, i == 0 ? rows : nullptr));
  }
}

// Finds the times of reductions that wait for several devices or replicas as a fixed point: passes
// run repeatedly, each time beside the reductions that followed from the previous run. Every run
// fixes the start, and so the end, of at least one more reduction, in order of time; few runs
// usually suffice.
void TimedIterations::run_until_settled(ReplicaTimeline::Begin& begin) {
  const auto is_equal = [](double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); };
  const std::vector<CollectiveSpans> gathers = begin.beside;
  std::vector<double> before;
  for (bool changed = true; changed;) {
    run_passes(begin, nullptr);
    const CollectiveQueue queue = reductions(false);
    const std::vector<double> starts = queue.starts();
    changed = !std::ranges::equal(starts, before, is_equal);
    before = starts;
    begin.beside = gathers;
    queue.add_to(begin.beside);
  }
}

CollectiveQueue TimedIterations::reductions(bool reported) const {
  CollectiveQueue queue(replica_groups_, job_.schedule.devices, collectives_.parts,
                        collectives_.gradients);
  const bool overlaps = job_.conditions.communication.overlap_grad_reduce;
  for (std::size_t i = 0; i < passes_.size(); ++i)
    for (PartReady part : passes_[i].posts) {
      if (!overlaps) part.time = passes_[i].released[part.device];
      queue.ready(part, i, i == 0 && reported);
    }
  queue.run();
  return queue;
}

// Time at which all gradients of each device are reduced; 0 if they need no reduction.
TimedIterations::ByDevice TimedIterations::reduce_gradients() const {
  ByDevice reduced(job_.schedule.devices);
  if (!collectives_.has_shared_stages) return reduced;
  const CollectiveQueue queue = reductions(rows_ != nullptr);
  if (rows_ != nullptr) queue.report(trace::CollectiveKind::reduce_gradients, replicas_, *rows_);
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device) {
    for (const std::uint32_t stage : stages_[device])
      reduced[device] = std::max(reduced[device], queue.end(stage));
    for (const ReplicaTimeline::Passes& replica : passes_)
      if (!replica.stream_end.empty())
        reduced[device] = std::max(reduced[device], replica.stream_end[device]);
  }
  return reduced;
}

// Advances the `times` of the first and the last device to the end of the all-reduce of their
// shared embedding, which waits for both.
void TimedIterations::tie_embeddings(std::size_t replica, ByDevice& times) const {
  double start = 0;
  for (std::uint32_t device = 0; device < times.size(); ++device)
    if (replica_groups_.ties_embeddings(device)) start = std::max(start, times[device]);
  for (std::uint32_t device = 0; device < times.size(); ++device) {
    if (!replica_groups_.ties_embeddings(device)) continue;
    const double end = start + least_times_.seconds(replica_groups_.embeddings(replicas_[replica]),
                                                    job_.conditions.communication.all_reduce);
    if (replica == 0 && rows_ != nullptr)
      rows_->collective({.device = device,
                         .stage = first_stage(job_.schedule.routes, device),
                         .kind = trace::CollectiveKind::tie_embeddings,
                         .posted = times[device],
                         .start = start,
                         .end = end});
    times[device] = end;
  }
}

// Time at which each device has gathered its weights. `updated` is the time at which its optimizer
// step ends, by replica and device.
TimedIterations::ByDevice TimedIterations::gather_weights(
    const std::vector<ByDevice>& updated) const {
  CollectiveQueue queue(replica_groups_, job_.schedule.devices, collectives_.weight_parts,
                        collectives_.weights);
  for (std::size_t i = 0; i < updated.size(); ++i)
    for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
      for (const std::uint32_t stage : stages_[device])
        for (std::uint32_t part = 0; part < collectives_.weight_parts[stage]; ++part)
          queue.ready({device, stage, part, updated[i][device]}, i, i == 0 && rows_ != nullptr);
  queue.run();
  if (rows_ != nullptr) queue.report(trace::CollectiveKind::gather_weights, replicas_, *rows_);
  ByDevice complete(job_.schedule.devices);
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
    for (const std::uint32_t stage : stages_[device])
      complete[device] = std::max(complete[device], queue.end(stage));
  return complete;
}

// Reports the last of some devices at an event of a stage, unless the reported replica is last.
// `times` are those at which device copies are ready, by replica and device.
void TimedIterations::report_last(trace::WaitEvent event, std::uint32_t stage,
                                  const std::vector<ByDevice>& times,
                                  const std::vector<std::uint32_t>& devices) const {
  if (rows_ == nullptr) return;
  std::size_t last_replica = 0;
  std::uint32_t last_device = devices.front();
  for (std::size_t replica = 0; replica < times.size(); ++replica)
    for (const std::uint32_t device : devices)
      if (times[replica][device] > times[last_replica][last_device] + same_time) {
        last_replica = replica;
        last_device = device;
      }
  if (last_replica > 0)
    rows_->wait({.event = event,
                 .stage = stage,
                 .replica = replicas_[last_replica],
                 .device = last_device,
                 .time = times[last_replica][last_device]});
}

TimedIterations::Ends TimedIterations::run() {
  const std::uint32_t first_microbatch =
      iteration_ * job_.schedule.microbatches * job_.schedule.slices;
  if (rows_ != nullptr) rows_->start_iteration(iteration_, first_microbatch);
  ++iteration_;
  const std::vector<double> gathers = begin_gathers();
  if (rows_ != nullptr && !gathers.empty()) report_gathers(gathers);
  ReplicaTimeline::Begin begin{
      .devices = {}, .weights = gathers, .first_microbatch = first_microbatch};
  if (slows_) {
    begin.beside = gathers_beside(gathers);
    const bool beside_passes = job_.conditions.communication.overlap_grad_reduce;
    begin.adds_reductions = is_single_replica_enough_ && beside_passes;
    if (!is_single_replica_enough_ && beside_passes) run_until_settled(begin);
  }
  run_passes(std::move(begin), rows_);
  const ReplicaTimeline::Passes& reported = passes_.front();
  Ends ends{.end = reported.end};
  if (job_.costs.traffic.empty()) return ends;

  const std::uint32_t devices = job_.schedule.devices;
  const ByDevice gradients = reduce_gradients();
  std::vector<ByDevice> times;  // by replica
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    ByDevice& reduced = times.emplace_back(passes_[i].released);
    for (std::uint32_t device = 0; device < devices; ++device)
      reduced[device] = std::max(reduced[device], gradients[device]);
    tie_embeddings(i, reduced);
    ends.synchronized = std::max(ends.synchronized, std::ranges::max(reduced));
  }
  ends.synchronized += replica_groups_.norm_latency();

  std::vector<std::uint32_t> every_device(devices);
  std::iota(every_device.begin(), every_device.end(), 0U);
  if (job_.waits_for_norm()) report_last(trace::WaitEvent::norm, 0, times, every_device);
  std::vector<trace::StepRow> rows;
  for (std::uint32_t device = 0; rows_ != nullptr && device < devices; ++device)
    rows.push_back({.device = device,
                    .start = reported.released[device],
                    .reduced = times.front()[device],
                    .gathering = reported.gathering[device]});
  const auto& step = job_.costs.optimizer_seconds;
  for (std::size_t i = 0; i < replicas_.size(); ++i)
    for (std::uint32_t device = 0; device < devices; ++device) {
      double& time = times[i][device];
      if (job_.waits_for_norm()) time = ends.synchronized;
      if (i == 0 && rows_ != nullptr) rows[device].synchronized = time;
      if (!step.empty()) time += step[device] * job_.straggler_factor({replicas_[i], device});
      if (i == 0 && rows_ != nullptr) rows[device].updated = time;
    }
  if (job_.conditions.gathers_after() && collectives_.has_shared_stages) {
    const ByDevice complete = gather_weights(times);
    for (ByDevice& replica : times)
      for (std::uint32_t device = 0; device < devices; ++device)
        replica[device] = std::max(replica[device], complete[device]);
  }
  for (const ByDevice& replica : times) ends.end = std::max(ends.end, std::ranges::max(replica));
  report_last(trace::WaitEvent::end, 0, times, every_device);
  for (trace::StepRow& row : rows) {
    row.end = times.front()[row.device];
    rows_->step(row);
  }
  free_ = std::move(times);
  return ends;
}

}  // namespace pipewright::execution
