#include "sim/goodput/ratio_bound.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/goodput/incidents.hpp"

namespace pipewright::goodput {
namespace {

// Tolerance: the simulation may end a wait by this many seconds early.
constexpr double early = 1e-5;
// Relative rounding error of sums.
constexpr double rounding = 1e-9;

}  // namespace

// Computes the upper bound of the fraction of time with lasting training for one seed: replays its
// failures, each at its minimum cost.
class RatioBound::Replay {
 public:
  explicit Replay(const Setting& setting)
      : setting_(setting),
        step_(setting.mode == config::Goodput::Mode::peer ? setting.peer_interval
                                                          : setting.interval),
        stall_(stall(setting)),
        load_(flow_seconds(setting, setting.read)) {
    if (setting.mode == config::Goodput::Mode::peer) load_ = std::min(load_, setting.peer);
  }

  double ratio(const std::vector<Failure>& failures) {
    double up_from = 0;
    double lasting = 0;
    for (const Failure& failure : failures) {
      if (failure.is_planned) {
        lasting += lasting_of(up_from, failure.at, true);
        up_from = std::max(up_from, failure.at);
        continue;
      }
      lasting += lasting_of(up_from, failure.at, setting_.mode == config::Goodput::Mode::peer);
      if (setting_.spares && failure.nodes > 0) back_[failure.at + failure.repair] += failure.nodes;
      up_from = enough_from(failure.at + failure.detection) + setting_.restart + load_;
    }
    lasting += lasting_of(up_from, setting_.duration, true);
    return lasting / setting_.duration;
  }

 private:
  // Returns the number of nodes that the job lacks right after `time`: those in repair, less the
  // spares.
  std::uint32_t missing_nodes(double time) const {
    std::uint32_t out = 0;
    for (auto repair = back_.upper_bound(time); repair != back_.end(); ++repair)
      out += repair->second;
    return out - std::min(out, setting_.spares.value_or(0));
  }

  // Returns the speed of training without the missing nodes, relative to full speed; 0 if the job
  // waits for them.
  double speed(std::uint32_t missing) const {
    if (missing == 0) return 1;
    if (!setting_.elastic) return 0;
    return std::max(0.0,
                    1 - static_cast<double>(replicas_of(setting_, missing)) / setting_.replicas);
  }

  double enough_from(double time) const {
    while (speed(missing_nodes(time)) <= 0) time = back_.upper_bound(time)->first;
    return time;
  }

  // Returns the seconds of training between two stops that are not lost: whole checkpoint
  // intervals, or all of it if `to_the_end`.
  double lasting_of(double from, double to, bool to_the_end) {
    const double seconds = std::min(to, setting_.duration) - from + early;
    if (seconds <= early) return 0;
    const double steps = std::floor(seconds / (step_ + stall_));
    double lasting = steps * step_;
    if (to_the_end) lasting += std::min(step_, seconds - steps * (step_ + stall_));
    // Training on fewer replicas is slower until nodes are back.
    double trained = early;
    for (double at = from; at < to;) {
      const auto next = back_.upper_bound(at);
      const double until = next == back_.end() ? to : std::min(to, next->first);
      trained += (until - at) * speed(missing_nodes(at));
      at = until;
    }
    back_.erase(back_.begin(), back_.upper_bound(from));
    return std::min(lasting, trained);
  }

  const Setting& setting_;
  double step_;
  double stall_;
  double load_;
  std::map<double, std::uint32_t> back_;  // Failed nodes by the time of their repair.
};

const RatioBound::FailureSet& RatioBound::failures_of(const Setting& setting) {
  for (const FailureSet& cached : cache_)
    if (cached.kinds == setting.failures && cached.trace == setting.trace &&
        cached.trace_share == setting.trace_share && cached.duration == setting.duration &&
        cached.planned_every == setting.planned_every)
      return cached;
  constexpr std::size_t max_cached = 16;
  if (cache_.size() == max_cached) cache_.pop_front();
  FailureSet& added = cache_.emplace_back(FailureSet{setting.failures,
                                                     setting.trace,
                                                     setting.trace_share,
                                                     setting.duration,
                                                     setting.planned_every,
                                                     {}});
  Setting without_slowdowns = setting;
  without_slowdowns.straggler_rate = 0;
  without_slowdowns.corruption_rate = 0;
  for (std::uint64_t seed = first_seed_; seed < first_seed_ + seeds_; ++seed) {
    std::vector<Failure>& failures = added.failures.emplace_back();
    Incidents incidents(without_slowdowns, seed);
    while (incidents.next() < setting.duration) {
      const Incident incident = incidents.take();
      if (incident.type == Incident::Type::planned)
        failures.push_back({.at = incident.at, .is_planned = true});
      else
        failures.push_back({incident.at, incident.kind->nodes + incident.kind->drained,
                            incident.kind->detection, incident.kind->repair});
    }
  }
  return added;
}

double RatioBound::ratio(const Setting& setting) {
  double sum = 0;
  for (const std::vector<Failure>& failures : failures_of(setting).failures)
    sum += Replay(setting).ratio(failures);
  return std::min(1.0, sum / static_cast<double>(seeds_) * (1 + rounding));
}

}  // namespace pipewright::goodput
