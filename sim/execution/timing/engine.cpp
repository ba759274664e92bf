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

// The replica whose passes are reported, and others that differ from it: all wait for each other.
std::vector<std::uint32_t> replicas_that_differ(const Job& job, std::size_t most) {
  std::vector<std::uint32_t> replicas{0};
  if (!job.passes_vary() || job.costs.traffic.empty()) return replicas;
  // Of uneven ones the first have most to do.
  if (job.conditions.variation.is_random() || (job.uneven && job.uneven->replicas_differ())) {
    for (std::uint32_t replica = 1; replica < std::min<std::size_t>(most, job.simulated_replicas());
         ++replica)
      replicas.push_back(replica);
    return replicas;
  }
  std::set<std::vector<double>> seen;
  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica) {
    const auto factors = job.slowdown.begin() + std::ptrdiff_t{replica} * job.schedule.devices;
    const bool is_new = seen.emplace(factors, factors + job.schedule.devices).second;
    if (is_new && replica > 0 && replicas.size() < most) replicas.push_back(replica);
  }
  return replicas;
}

// Whether iterations follow one another with a time between them at which all devices wait.
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
  return {schedule,       job.costs,     job.cluster,  job.hosts,    job.p2p,    job.ranks,
          job.conditions, job.symmetric, job.slowdown, job.capacity, job.uneven, job.assumed};
}

// A pass runs on the devices of all replicas whose collectives it holds.
bool passes_meet_other_replicas(const Job& job, const ReplicaGroups& replica_groups) {
  for (std::uint32_t stage = 0; stage < job.costs.traffic.size(); ++stage)
    for (const std::vector<workload::Call>& calls : job.costs.traffic[stage].inside)
      for (const workload::Call& call : calls)
        if (!replica_groups.replicas_with(call.group, {0, job.schedule.routes.device(stage, 0)})
                 .empty())
          return true;
  return false;
}

// Whether gradients are reduced, or weights gathered, part by part while passes run.
bool falls_due_in_passes(const Job& job, const ReplicaGroups& replica_groups) {
  const bool by_parts = job.conditions.communication.overlap_grad_reduce ||
                        job.conditions.gathers_before() || job.gathers_for_passes() ||
                        (reduces_between_passes(job) && job.has_overlap_slowdown());
  for (std::uint32_t stage = 0; by_parts && stage < job.schedule.stages(); ++stage)
    if (replica_groups.has(stage)) return true;
  return false;
}

// Whether some stage's tokens are sent beside compute that other collectives interrupt: how much of
// it these slow down depends on the order.
bool interrupts_dispatch(const Job& job) {
  bool dispatches = false;
  bool interrupts = false;
  for (const workload::StageTraffic& stage : job.costs.traffic)
    for (const std::vector<workload::Call>& calls : stage.inside)
      for (const workload::Call& call : calls)
        (call.is_dispatch() ? dispatches : interrupts) = true;
  return dispatches && interrupts && job.has_overlap_slowdown();
}

// What the engine knows only a bound of.
void check_exact(const Job& job, const ReplicaGroups& replica_groups) {
  const auto unsupported = [](const char* what) {
    throw schedules::Error(std::string("the timing engine knows no ") + what +
                           "; take engine: simgrid (--engine simgrid), or leave that out");
  };
  if (job.costs.traffic.empty()) return;
  if (job.passes_vary() && job.conditions.zero >= 2)
    unsupported(
        "jitter, stragglers or lengths under ZeRO-2 and ZeRO-3, which others wait for between "
        "passes");
  if (job.has_full_detail()) {
    if (schedules::has_fused_pairs(job.schedule) &&
        (job.costs.times.says_pairs() || interrupts_dispatch(job)))
      unsupported(
          "detail: full of fused pairs whose time is given, or with other collectives than those "
          "of experts");
    if (passes_meet_other_replicas(job, replica_groups))
      unsupported("detail: full of passes that wait for other replicas");
    if (falls_due_in_passes(job, replica_groups))
      unsupported("detail: full of passes beside which gradients are reduced or weights gathered");
  }
  if (job.schedule.iterations == 1) return;
  if (!iterations_meet(job) ||
      job.schedule.microbatches * job.schedule.slices % job.schedule.routes.count() != 0)
    unsupported("optimizer's step between iterations that run into each other");
}

// Where compute is as fast beside collectives as alone: which of these run beside which compute
// depends on what contends, so nothing less is certain.
Job without_overlap_slowdown(Job job) {
  job.conditions.communication.overlap_slowdown = 1;
  return job;
}

void check_times(const Job& job) {
  if (job.conditions.variation.is_random())
    throw config::Error(
        "variation.jitter makes each pass take a random time, of which nothing is the least; leave "
        "it out");
}

TimedIterations::Ends ends_of_one(const Job& job, LeastTimes& least) {
  constexpr std::size_t most_replicas = 8;
  const ReplicaGroups replica_groups(job, least.groups());
  return TimedIterations(job, replicas_that_differ(job, most_replicas), replica_groups, least,
                         nullptr)
      .run();
}

}  // namespace

void time(const Job& job, trace::Sink& sink) {
  LeastTimes least(job, LeastTimes::Sharing::ignored);
  const ReplicaGroups replica_groups(job, least.groups());
  check_exact(job, replica_groups);
  TimingRows rows(job, replica_groups, sink);
  const auto replicas = replicas_that_differ(job, job.simulated_replicas());
  if (job.schedule.iterations == 1 || job.costs.traffic.empty()) {
    TimedIterations(job, replicas, replica_groups, least, &rows).run();
    return;
  }
  const schedules::Schedule once = one_iteration(job.schedule);
  const Job single = with_schedule(job, once);
  TimedIterations iterations(single, replicas, replica_groups, least, &rows);
  for (std::uint32_t iteration = 0; iteration < job.schedule.iterations; ++iteration)
    iterations.run();
}

void check_bound(const Job& job, LeastTimes& least) {
  check_times(job);
  const ReplicaGroups replica_groups(job, least.groups());  // throws where two would shard a stage
}

double least_step(const Job& job, std::uint32_t replicas) {
  const auto& steps = job.costs.optimizer_seconds;
  if (steps.empty() || job.costs.traffic.empty()) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t replica = 0; replica < replicas; ++replica)
    for (std::uint32_t device = 0; device < steps.size(); ++device)
      least = std::min(least, steps[device] * job.straggler_factor({replica, device}));
  return least;
}

double lower_bound(const Job& slowed, LeastTimes& least) {
  check_times(slowed);
  const Job job = without_overlap_slowdown(slowed);
  if (job.schedule.iterations == 1 || !iterations_meet(job) || job.gathers_for_passes() ||
      job.uneven)
    return ends_of_one(job, least).end;
  const schedules::Schedule once = one_iteration(job.schedule);
  const TimedIterations::Ends ends = ends_of_one(with_schedule(job, once), least);
  return ends.end + (job.schedule.iterations - 1) *
                        (ends.synchronized + least_step(job, job.simulated_replicas()));
}

double lower_bound(const Job& job) {
  LeastTimes least(job);
  return lower_bound(job, least);
}

}  // namespace pipewright::execution
