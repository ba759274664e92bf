#include "sim/execution/bound.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/execution/noise.hpp"
#include "sim/execution/replica_timeline.hpp"

namespace pipewright::execution {
namespace {

// The replica whose passes are reported, and others that differ from it: all wait for each other.
std::vector<std::uint32_t> replicas_to_look_at(const Job& job) {
  std::vector<std::uint32_t> replicas{0};
  if (job.slowdown.empty()) return replicas;
  constexpr std::size_t most = 8;
  std::set<std::vector<double>> seen;
  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica) {
    const auto factors = job.slowdown.begin() + std::ptrdiff_t{replica} * job.schedule.devices;
    const bool is_new = seen.emplace(factors, factors + job.schedule.devices).second;
    if (is_new && replica > 0 && replicas.size() < most) replicas.push_back(replica);
  }
  return replicas;
}

// Collectives over the copies of a stage, one part after the other: when all are ready for each.
struct Meetings {
  std::vector<double> ready;
  double seconds = 0;
};
using MeetingsOfStages = std::vector<Meetings>;

// The optimizer's step after the passes, as Device takes it.
class StepBound {
 public:
  StepBound(const Job& job, LeastTimes& least)
      : job_(job),
        least_(least),
        replica_groups_(job, least.groups()),
        talk_(job, replica_groups_, least) {
    stages_.resize(job.schedule.devices);
    for (std::uint32_t stage = 0; stage < job.schedule.stages(); ++stage)
      if (talk_.parts[stage] > 0)
        for (const std::uint32_t device : replica_groups_.holders(stage))
          stages_[device].push_back(stage);
  }

  // Of one iteration after the other, without what comes between.
  struct Ends {
    double synchronized = 0;  // of all devices: the norm is known
    double end = 0;           // of the replica that is reported
  };
  Ends ends();

 private:
  // Of its own meetings, which streams run one after the other, a device sees the last one end.
  double last_end(std::uint32_t device, const MeetingsOfStages& meetings) const;
  MeetingsOfStages reductions(const std::vector<ReplicaTimeline>& sweeps) const;
  std::vector<double> reduced(const ReplicaTimeline& sweep, std::uint32_t replica,
                              const std::vector<double>& gradients);
  double gathered(const std::vector<std::vector<double>>& updated) const;

  const Job& job_;
  LeastTimes& least_;
  ReplicaGroups replica_groups_;
  StageCollectives talk_;
  std::vector<std::vector<std::uint32_t>> stages_;  // by device: that others hold as well
};

double StepBound::last_end(std::uint32_t device, const MeetingsOfStages& meetings) const {
  struct One {
    double ready;
    double seconds;
    std::uint32_t stream;
  };
  std::vector<One> all;
  for (const std::uint32_t stage : stages_[device])
    for (const double ready : meetings[stage].ready)
      all.push_back({ready, meetings[stage].seconds, replica_groups_.holders(stage).front()});
  std::ranges::stable_sort(all, {}, &One::ready);
  std::map<std::uint32_t, double> busy;  // by stream
  double end = 0;
  for (const One& one : all) {
    double& until = busy[one.stream];
    until = std::max(until, one.ready) + one.seconds;
    end = std::max(end, until);
  }
  return end;
}

MeetingsOfStages StepBound::reductions(const std::vector<ReplicaTimeline>& sweeps) const {
  MeetingsOfStages meetings(job_.schedule.stages());
  if (talks_between_passes(job_)) return meetings;  // they are in the streams' ends
  for (std::uint32_t stage = 0; stage < job_.schedule.stages(); ++stage) {
    if (talk_.parts[stage] == 0) continue;
    meetings[stage].seconds = talk_.gradients[stage];
    double over = 0;  // all passes of those who hold it
    if (!job_.conditions.communication.overlap_grad_reduce)
      for (const ReplicaTimeline& one : sweeps)
        for (const std::uint32_t device : replica_groups_.holders(stage))
          over = std::max(over, one.released[device]);
    for (std::uint32_t part = 0; part < talk_.parts[stage]; ++part) {
      double& ready = meetings[stage].ready.emplace_back(over);
      for (const ReplicaTimeline& one : sweeps)
        if (part < one.posted[stage].size()) ready = std::max(ready, one.posted[stage][part]);
    }
  }
  return meetings;
}

// When each device of a replica has its gradients, those of tied embeddings among them.
std::vector<double> StepBound::reduced(const ReplicaTimeline& sweep, std::uint32_t replica,
                                       const std::vector<double>& gradients) {
  std::vector<double> times = sweep.released;
  for (std::size_t device = 0; device < times.size(); ++device)
    times[device] = std::max(times[device], gradients[device]);
  double both = 0;
  for (std::uint32_t device = 0; device < times.size(); ++device)
    if (replica_groups_.ties_embeddings(device)) both = std::max(both, times[device]);
  for (std::uint32_t device = 0; device < times.size(); ++device)
    if (replica_groups_.ties_embeddings(device))
      times[device] = both + least_.seconds(replica_groups_.embeddings(replica),
                                            job_.conditions.communication.all_reduce);
  return times;
}

// When the replica that is reported has its weights whole again.
double StepBound::gathered(const std::vector<std::vector<double>>& updated) const {
  MeetingsOfStages meetings(job_.schedule.stages());
  for (std::uint32_t stage = 0; stage < job_.schedule.stages(); ++stage) {
    if (talk_.parts[stage] == 0) continue;
    double ready = 0;
    for (const std::vector<double>& replica : updated)
      for (const std::uint32_t device : replica_groups_.holders(stage))
        ready = std::max(ready, replica[device]);
    meetings[stage] = {{ready}, talk_.weights[stage]};
  }
  double end = 0;
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device)
    end = std::max(end, last_end(device, meetings));
  return end;
}

StepBound::Ends StepBound::ends() {
  const std::vector<std::uint32_t> replicas = replicas_to_look_at(job_);
  std::vector<ReplicaTimeline> sweeps;
  for (const std::uint32_t replica : replicas)
    sweeps.push_back(sweep(job_, replica, replica_groups_, talk_, least_));
  Ends ends{.end = sweeps.front().end};
  if (job_.costs.traffic.empty()) return ends;

  const MeetingsOfStages meetings = reductions(sweeps);
  std::vector<double> gradients(job_.schedule.devices);
  for (std::uint32_t device = 0; device < job_.schedule.devices; ++device) {
    gradients[device] = last_end(device, meetings);
    for (const ReplicaTimeline& one : sweeps)
      if (!one.stream_end.empty())
        gradients[device] = std::max(gradients[device], one.stream_end[device]);
  }
  std::vector<std::vector<double>> times;  // by replica and device
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    times.push_back(reduced(sweeps[i], replicas[i], gradients));
    ends.synchronized = std::max(ends.synchronized, std::ranges::max(times.back()));
  }
  ends.synchronized += replica_groups_.norm_latency();
  const auto& step = job_.costs.optimizer_seconds;
  for (std::size_t i = 0; i < replicas.size(); ++i)
    for (std::uint32_t device = 0; device < job_.schedule.devices; ++device) {
      double& time = times[i][device];
      if (job_.waits_for_norm()) time = ends.synchronized;
      if (!step.empty()) time += step[device] * straggler_factor(job_, {replicas[i], device});
    }
  ends.end = std::max(ends.end, std::ranges::max(times.front()));
  if (job_.conditions.gathers_after()) ends.end = std::max(ends.end, gathered(times));
  return ends;
}

// Whether iterations follow one another with a time between them at which all devices wait.
bool repeats(const Job& job) {
  const std::uint32_t iterations = job.schedule.iterations;
  return iterations > 1 && !job.costs.traffic.empty() && job.waits_for_norm() &&
         !job.gathers_for_passes() &&
         std::ranges::all_of(job.schedule.programs, [&](const schedules::Program& program) {
           return program.iterations == iterations;
         });
}

// The least optimizer's step of a device.
double least_step(const Job& job) {
  const auto& step = job.costs.optimizer_seconds;
  if (step.empty()) return 0;
  double least = step.front() * straggler_factor(job, {0, 0});
  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica)
    for (std::uint32_t device = 0; device < step.size(); ++device)
      least = std::min(least, step[device] * straggler_factor(job, {replica, device}));
  return least;
}

void check_times(const Job& job) {
  if (job.conditions.variation.is_random())
    throw config::Error(
        "variation.jitter makes each pass take a random time, of which nothing is the least; leave "
        "it out");
}

}  // namespace

void check_bound(const Job& job, LeastTimes& least) {
  check_times(job);
  const ReplicaGroups replica_groups(
      job, least.groups());  // throws where two devices would shard a stage
}

double lower_bound(const Job& job, LeastTimes& least) {
  check_times(job);
  if (!repeats(job)) return StepBound(job, least).ends().end;
  schedules::Schedule once = job.schedule;
  once.iterations = 1;
  for (schedules::Program& program : once.programs) program.iterations = 1;
  const Job single{once,      job.costs,      job.cluster,   job.hosts,   job.p2p,
                   job.ranks, job.conditions, job.symmetric, job.slowdown};
  const StepBound::Ends ends = StepBound(single, least).ends();
  return ends.end + (job.schedule.iterations - 1) * (ends.synchronized + least_step(job));
}

double lower_bound(const Job& job) {
  LeastTimes least(job);
  return lower_bound(job, least);
}

}  // namespace pipewright::execution
