#include "sim/execution/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace pipewright::execution {
namespace {

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

}  // namespace

double noise(const Job& job, ReplicaDevice who, const schedules::Pass& pass) {
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

}  // namespace pipewright::execution
