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

// What a device waits for is others' time, and no noise of its own.
PassWork work_of(const Job& job, const ReplicaGroups& replica_groups, ReplicaDevice who,
                 const Pass& pass, const Pass* partner) {
  const workload::StageCosts& costs = job.costs;
  const double whole = partner == nullptr ? costs.times(pass) : costs.times(pass, *partner);
  double exposed = 0;
  double overlapped = 0;
  if (!job.has_full_detail())
    for (const Pass* one : {&pass, partner})
      if (one != nullptr) {
        exposed += costs.exposed_of(*one);
        overlapped += costs.overlapped_of(*one);
      }
  exposed = std::min(exposed, whole);
  const double compute = (whole - exposed) * slowest_noise(job, replica_groups, who, pass, partner);
  PassWork work{.seconds = compute + exposed};
  if (work.seconds > 0)
    work.excess =
        overlap_excess(job, pass, partner) * std::max(0.0, compute - overlapped) / work.seconds;
  return work;
}

}  // namespace pipewright::execution
