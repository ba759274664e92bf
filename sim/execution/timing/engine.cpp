#include "sim/execution/timing/engine.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>

#include "sim/execution/run.hpp"
#include "sim/execution/timing/iteration.hpp"

namespace pipewright::execution {
namespace {

// Replicas to simulate: the one that is reported, and those whose pass times differ from it. All of
// them wait for each other.
std::vector<std::uint32_t> replicas_that_differ(const Job& job, std::size_t max_replicas) {
  std::vector<std::uint32_t> replicas{job.reported_replica};
  if (!job.passes_vary() || job.costs.traffic.empty()) return replicas;
  const bool any_may_differ =
      job.conditions.variation.is_random() || (job.uneven && job.uneven->replicas_differ());
  const auto factors_of = [&](std::uint32_t replica) {
    const auto first = job.slowdown.begin() + std::ptrdiff_t{replica} * job.schedule.devices;
    return std::vector<double>(first, first + job.schedule.devices);
  };
  std::set<std::vector<double>> seen;
  if (!any_may_differ) seen.insert(factors_of(job.reported_replica));
  // The first replicas of an uneven job have the most work.
  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica)
    if (replica != job.reported_replica && replicas.size() < max_replicas &&
        (any_may_differ || seen.insert(factors_of(replica)).second))
      replicas.push_back(replica);
  return replicas;
}

// True if all devices wait for each other between any two iterations.
bool iterations_meet(const Job& job) {
  const std::uint32_t iterations = job.schedule.iterations;
  return !job.costs.traffic.empty() && job.waits_for_norm() &&
         std::ranges::all_of(job.schedule.programs, [&](const schedules::Program& program) {
           return program.iterations == iterations;
         });
}

schedules::Schedule one_iteration(schedules::Schedule schedule) {
  schedule.iterations = 1;
  for (schedules::Program& program : schedule.programs) program.iterations = 1;
  return schedule;
}

Job with_schedule(const Job& job, const schedules::Schedule& schedule) {
  return {schedule,   job.costs,      job.cluster,         job.hosts,    job.p2p,
          job.ranks,  job.conditions, job.symmetric,       job.slowdown, job.capacity,
          job.uneven, job.evidence,   job.reported_replica};
}

// True if passes have collectives with other replicas, for which they wait.
bool passes_meet_other_replicas(const Job& job, const ReplicaGroups& replica_groups) {
  for (std::uint32_t stage = 0; stage < job.costs.traffic.size(); ++stage)
    for (const std::vector<workload::Call>& calls : job.costs.traffic[stage].inside)
      for (const workload::Call& call : calls)
        if (!replica_groups.replicas_with(call.group, {0, job.schedule.routes.device(stage, 0)})
                 .empty())
          return true;
  return false;
}

// True if gradients are reduced, or weights gathered, in parts while passes run.
bool has_milestones_in_passes(const Job& job, const ReplicaGroups& replica_groups) {
  const bool by_parts = job.conditions.communication.overlap_grad_reduce ||
                        job.conditions.gathers_before() || job.gathers_for_passes() ||
                        job.reshards_stages() ||
                        (reduces_between_passes(job) && job.has_overlap_slowdown());
  for (std::uint32_t stage = 0; by_parts && stage < job.schedule.stages(); ++stage)
    if (replica_groups.has(stage)) return true;
  return false;
}

// True if passes have collectives on the second stream of fused pairs, such as expert dispatch, and
// others beside their compute. Their order then determines how much of the compute the others slow
// down.
bool interrupts_dispatch(const Job& job) {
  bool dispatches = false;
  bool interrupts = false;
  for (const workload::StageTraffic& stage : job.costs.traffic)
    for (const std::vector<workload::Call>& calls : stage.inside)
      for (const workload::Call& call : calls)
        (job.half_in_pair(call) ? dispatches : interrupts) = true;
  return dispatches && interrupts && job.has_overlap_slowdown();
}

// Throws schedules::Error for jobs for whose times this engine can only compute lower bounds.
void check_exact(const Job& job, const ReplicaGroups& replica_groups) {
  const auto unsupported = [](const char* feature) {
    throw schedules::Error(std::string("the timing engine does not support ") + feature +
                           "; use engine: simgrid (--engine simgrid), or leave that out");
  };
  if (job.costs.traffic.empty()) return;
  if (job.passes_vary() && job.conditions.zero >= 2)
    unsupported(
        "jitter, stragglers or lengths with ZeRO-2 and ZeRO-3, where replicas wait for each other "
        "between passes");
  if (job.passes_vary() && job.reshards_stages())
    unsupported(
        "jitter, stragglers or lengths with FSDP that gathers stages again between passes, where "
        "replicas wait for each other");
  if (job.has_full_detail()) {
    if (schedules::has_fused_pairs(job.schedule) &&
        (job.costs.times.has_pair_times() || interrupts_dispatch(job)))
      unsupported(
          "detail: full with fused pairs whose time is given, or that have collectives other than "
          "expert dispatch");
    if (passes_meet_other_replicas(job, replica_groups))
      unsupported("detail: full with passes that wait for other replicas");
    if (has_milestones_in_passes(job, replica_groups))
      unsupported("detail: full with gradients reduced or weights gathered beside passes");
  }
  if (job.schedule.iterations == 1) return;
  if (!iterations_meet(job) ||
      job.schedule.microbatches * job.schedule.slices % job.schedule.routes.count() != 0)
    unsupported("iterations that overlap");
}

// Copy of the job in which collectives do not slow down compute. Contention decides which compute
// runs beside collectives, so that only the full speed of compute gives a certain bound.
Job without_overlap_slowdown(Job job) {
  job.conditions.communication.overlap_slowdown = 1;
  return job;
}

void check_times(const Job& job) {
  if (job.conditions.variation.is_random())
    throw config::Error("variation.jitter gives passes random times, which have no lower bound")
        .suggest("leave it out");
}

TimedIterations::Ends iteration_ends(const Job& job, LeastTimes& least_times) {
  constexpr std::size_t max_replicas = 8;
  const ReplicaGroups replica_groups(job, least_times.groups());
  return TimedIterations(job, replicas_that_differ(job, max_replicas), replica_groups, least_times,
                         nullptr)
      .run();
}

}  // namespace

void time(const Job& job, trace::Sink& sink) {
  LeastTimes least_times(job, LeastTimes::Sharing::ignored);
  const ReplicaGroups replica_groups(job, least_times.groups());
  check_exact(job, replica_groups);
  TimingRows rows(job, replica_groups, sink);
  const auto replicas = replicas_that_differ(job, job.simulated_replicas());
  if (job.schedule.iterations == 1 || job.costs.traffic.empty()) {
    TimedIterations(job, replicas, replica_groups, least_times, &rows).run();
    return;
  }
  const schedules::Schedule single_schedule = one_iteration(job.schedule);
  const Job single = with_schedule(job, single_schedule);
  TimedIterations iterations(single, replicas, replica_groups, least_times, &rows);
  for (std::uint32_t iteration = 0; iteration < job.schedule.iterations; ++iteration)
    iterations.run();
}

void check_bound(const Job& job, LeastTimes& least_times) {
  check_times(job);
  const ReplicaGroups replica_groups(
      job, least_times.groups());  // throws if two devices would shard a stage
}

double least_step(const Job& job, std::uint32_t replicas) {
  const auto& steps = job.costs.optimizer_seconds;
  if (steps.empty() || job.costs.traffic.empty()) return 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (std::uint32_t replica = 0; replica < replicas; ++replica)
    for (std::uint32_t device = 0; device < steps.size(); ++device)
      shortest = std::min(shortest, steps[device] * job.straggler_factor({replica, device}));
  return shortest;
}

double lower_bound(const Job& slowed, LeastTimes& least_times) {
  check_times(slowed);
  const Job job = without_overlap_slowdown(slowed);
  if (job.schedule.iterations == 1 || !iterations_meet(job) || job.gathers_for_passes() ||
      job.uneven)
    return iteration_ends(job, least_times).end;
  const schedules::Schedule single_schedule = one_iteration(job.schedule);
  const TimedIterations::Ends ends =
      iteration_ends(with_schedule(job, single_schedule), least_times);
  return ends.end + (job.schedule.iterations - 1) *
                        (ends.synchronized + least_step(job, job.simulated_replicas()));
}

double lower_bound(const Job& job) {
  LeastTimes least_times(job);
  return lower_bound(job, least_times);
}

}  // namespace pipewright::execution
