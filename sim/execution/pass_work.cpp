#include "sim/execution/pass_work.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipewright::execution {
namespace {

using schedules::Pass;
using Distribution = config::Variation::Distribution;

// SplitMix64's finalizer (Steele, Lea, Flood 2014): every bit of the result depends on every bit.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// In (0, 1).
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53; }

// Box and Muller 1958.
double normal(std::uint64_t bits) {
  return std::sqrt(-2 * std::log(uniform(bits))) *
         std::cos(2 * std::numbers::pi * uniform(mix(bits)));
}

// No pass takes less than no time. What is symmetric is cut on both sides, and keeps its mean.
double cut(double factor) { return std::clamp(factor, 0.0, 2.0); }

double factor(const config::Variation& variation, std::uint64_t bits) {
  const double deviation = variation.jitter;
  switch (variation.distribution) {
    case Distribution::normal:
      return cut(1 + deviation * normal(bits));
    case Distribution::uniform:
      return cut(1 + deviation * std::sqrt(3.0) * (2 * uniform(bits) - 1));
    case Distribution::lognormal:
      break;
  }
  const double variance = std::log1p(deviation * deviation);
  return std::exp(std::sqrt(variance) * normal(bits) - variance / 2);
}

// Of what runs as one. Passes that talk with other replicas go at the pace of the slowest of them;
// in full detail their collectives see to that.
double slowest_noise(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                     const Pass& pass, const Pass* partner) {
  double slowest = noise(job, who, pass);
  if (job.has_full_detail() || job.costs.traffic.empty() || !job.passes_vary()) return slowest;
  for (const Pass* one : {&pass, partner}) {
    if (one == nullptr) continue;
    for (const workload::Call& call : job.costs.traffic[one->stage][one->kind])
      for (const std::uint32_t replica : replica_groups.replicas_with(call.group, who))
        slowest = std::max(slowest, noise(job, {replica, who.device}, pass));
  }
  return slowest;
}

// By how much the compute of what runs as one is longer beside collectives; of a pair, what both
// are longer by.
double overlap_excess(const Job& job, const Pass& pass, const Pass* partner) {
  const auto of = [&](const Pass& one) { return job.overlap_slowdown(one.kind, one.stage) - 1; };
  if (partner == nullptr) return of(pass);
  const double first = job.costs.times(pass);
  const double second = job.costs.times(*partner);
  const double both = first + second;
  return both > 0 ? (first * of(pass) + second * of(*partner)) / both : of(pass);
}

}  // namespace

double noise(const Job& job, ReplicaDevice who, const Pass& pass) {
  const std::size_t place = std::size_t{who.replica} * job.schedule.devices + who.device;
  const double slow = job.straggler_factor(who);
  const config::Variation& variation = job.conditions.variation;
  if (!variation.is_random()) return slow;
  std::uint64_t bits = mix(variation.seed);
  for (const std::uint64_t part :
       {std::uint64_t{place}, std::uint64_t{pass.stage},
        std::uint64_t{pass.microbatch} << 8U | static_cast<std::uint64_t>(pass.kind)})
    bits = mix(bits ^ part);
  return slow * factor(variation, bits);
}

// What collectives take is others' time, and no noise of its own.
PassWork work_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                 const Pass& pass, const Pass* partner) {
  const workload::StageCosts& costs = job.costs;
  const bool simulated = job.has_full_detail();
  const double pace = slowest_noise(job, replica_groups, who, pass, partner);
  double planned = 0;     // what passes take beyond their kernels
  double waits = 0;       // the same at this pace
  double idle = 0;        // seconds in which the GPU does nothing, nor do its collectives
  double overlapped = 0;  // of the kernels
  for (const Pass* one : {&pass, partner}) {
    if (one == nullptr) continue;
    const double host = costs.of(costs.host_waits, *one);
    const double collectives = costs.of(costs.collective_waits, *one);
    planned += simulated ? host : std::max(host, collectives);
    waits += simulated ? pace * host : std::max(pace * host, collectives);
    idle += std::max(0.0, pace * host - collectives);
    if (!simulated) overlapped += costs.of(costs.overlapped, *one);
  }
  const double whole = partner == nullptr ? costs.times(pass) : costs.times(pass, *partner);
  const double kernels = pace * std::max(0.0, whole - planned);
  // A fused pair saves of what it waits for as well.
  waits = std::max(0.0, waits - std::max(0.0, planned - whole));
  idle = std::min(idle, waits);
  PassWork work{.seconds = kernels + (simulated ? idle : waits), .least = kernels + waits};
  const double longer = overlap_excess(job, pass, partner) * std::max(0.0, kernels - overlapped);
  if (work.seconds > 0) work.excess = std::max(0.0, longer - idle) / work.seconds;
  return work;
}

}  // namespace pipewright::execution
