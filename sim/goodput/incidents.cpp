#include "sim/goodput/incidents.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "sim/base/mix.hpp"

namespace pipewright::goodput {
namespace {

// Value of Upcoming::source for planned stops and traced failures, which no random source creates.
constexpr std::size_t no_source = std::numeric_limits<std::size_t>::max();

double scale_of(double mean, double shape) { return mean / std::tgamma(1 + 1 / shape); }

}  // namespace

// Hashing makes the numbers of neighbouring seeds and streams independent.
Random::Random(std::uint64_t seed, std::uint64_t stream)
    : engine_(base::mix(base::mix(seed) ^ stream)) {}

double Random::uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1.0p-53; }

double Random::log_uniform() { return std::log(uniform()); }

double Random::normal() {
  const double radius = std::sqrt(-2 * log_uniform());
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// Gamma-distributed number, by the algorithm of Marsaglia and Tsang (2000), for shapes of at least
// 1.
double Random::gamma(double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && log_uniform() < x * x / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

double Random::weibull(double mean, double shape) {
  return scale_of(mean, shape) * std::pow(-log_uniform(), 1 / shape);
}

// The interval that contains the start has the density x f(x) / mean, so (x / scale)^shape has a
// gamma distribution.
double Random::weibull_rest(double mean, double shape) {
  const double interval = scale_of(mean, shape) * std::pow(gamma(1 + 1 / shape), 1 / shape);
  return uniform() * interval;
}

Incidents::Incidents(const Setting& setting, std::uint64_t seed)
    : planned_every_(setting.planned_every) {
  using Type = Incident::Type;
  std::uint64_t stream = 0;
  for (const FailureKind& kind : setting.failures) {
    const bool exponential = kind.shape == 1;  // All units together act as one.
    const std::uint32_t units = exponential ? 1 : kind.units;
    add({Type::failure, &kind, units / kind.rate, kind.shape, 0, Random(seed, ++stream)},
        kind.rate > 0 ? units : 0);
  }
  constexpr std::uint64_t first_other_stream = 1000;
  if (setting.straggler_rate > 0)
    add({Type::straggler, nullptr, 1 / setting.straggler_rate, 1, setting.straggler_lasts,
         Random(seed, first_other_stream)},
        1);
  if (setting.corruption_rate > 0)
    add({Type::corruption, nullptr, 1 / setting.corruption_rate, 1, setting.corruption_found_after,
         Random(seed, first_other_stream + 1)},
        1);
  if (planned_every_ < never)
    upcoming_.push({{planned_every_, Type::planned, nullptr, 0}, no_source});
  add_trace(setting, seed);
}

void Incidents::add_trace(const Setting& setting, std::uint64_t seed) {
  if (setting.trace.empty()) return;
  constexpr std::uint64_t stream = 1002;
  const bool is_of_cluster = setting.trace_share > 0;
  const double spare = std::max(0.0, setting.trace.back().at - setting.duration);
  const double begin = is_of_cluster ? spare * Random(seed, stream).uniform() : 0;
  // Each node's draw depends only on the seed, so that a larger share only adds nodes.
  const auto has = [&](std::uint64_t node) {
    return Random(seed, base::mix(stream) + node).uniform() < setting.trace_share;
  };
  for (const TracedFailure& failure : setting.trace)
    if (!is_of_cluster || (failure.at >= begin && has(failure.node)))
      upcoming_.push({{failure.at - begin, Incident::Type::failure, &failure.kind, 0}, no_source});
}

void Incidents::add(Source source, std::uint32_t units) {
  sources_.push_back(source);
  Source& added = sources_.back();
  for (std::uint32_t unit = 0; unit < units; ++unit)
    upcoming_.push(
        {make(added, added.random.weibull_rest(added.mean, added.shape)), sources_.size() - 1});
}

Incident Incidents::make(Source& source, double at) {
  const double lasts = source.lasts > 0 ? source.random.exponential(source.lasts) : 0;
  return {at, source.type, source.kind, lasts};
}

Incident Incidents::take() {
  const Upcoming next = upcoming_.top();
  upcoming_.pop();
  if (next.incident.type == Incident::Type::planned)
    upcoming_.push(
        {{next.incident.at + planned_every_, Incident::Type::planned, nullptr, 0}, no_source});
  if (next.source < sources_.size()) {
    Source& source = sources_[next.source];
    const double gap = source.random.weibull(source.mean, source.shape);
    upcoming_.push({make(source, next.incident.at + gap), next.source});
  }
  return next.incident;
}

}  // namespace pipewright::goodput
