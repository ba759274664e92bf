#include "sim/goodput/at_best.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sim/goodput/incidents.hpp"

namespace pipewright::goodput {
namespace {

// Seconds by which the simulation may be early at the ends of what it waits for, and the part by
// which sums may round.
constexpr double early = 1e-5;
constexpr double rounding = 1e-9;

}  // namespace

// A job's nodes and training under the failures of one seed.
class AtBest::Replay {
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
  // Nodes that the job lacks, of those that are out after `time`.
  std::uint32_t lacks(double time) const {
    std::uint32_t out = 0;
    for (auto one = back_.upper_bound(time); one != back_.end(); ++one) out += one->second;
    return out - std::min(out, setting_.spares.value_or(0));
  }

  // The part of full speed with so many nodes less; 0: it waits for them.
  double speed(std::uint32_t lacking) const {
    if (lacking == 0) return 1;
    if (!setting_.elastic) return 0;
    return std::max(0.0,
                    1 - static_cast<double>(replicas_of(setting_, lacking)) / setting_.replicas);
  }

  double enough_from(double time) const {
    while (speed(lacks(time)) <= 0) time = back_.upper_bound(time)->first;
    return time;
  }

  // Seconds of training between two stops that last: whole steps, or to the end of it.
  double lasting_of(double from, double to, bool to_the_end) {
    const double seconds = std::min(to, setting_.duration) - from + early;
    if (seconds <= early) return 0;
    const double steps = std::floor(seconds / (step_ + stall_));
    double lasting = steps * step_;
    if (to_the_end) lasting += std::min(step_, seconds - steps * (step_ + stall_));
    // With fewer replicas it is slower until nodes are back.
    double trained = early;
    for (double at = from; at < to;) {
      const auto next = back_.upper_bound(at);
      const double until = next == back_.end() ? to : std::min(to, next->first);
      trained += (until - at) * speed(lacks(at));
      at = until;
    }
    back_.erase(back_.begin(), back_.upper_bound(from));
    return std::min(lasting, trained);
  }

  const Setting& setting_;
  double step_;
  double stall_;
  double load_;
  std::map<double, std::uint32_t> back_;  // nodes that were out, by the time when they are back
};

const AtBest::Known& AtBest::known(const Setting& setting) {
  for (const Known& one : known_)
    if (one.kinds == setting.failures && one.trace == setting.trace &&
        one.trace_share == setting.trace_share && one.duration == setting.duration &&
        one.planned_every == setting.planned_every)
      return one;
  constexpr std::size_t most_kept = 16;
  if (known_.size() == most_kept) known_.pop_front();
  Known& added = known_.emplace_back(Known{setting.failures,
                                           setting.trace,
                                           setting.trace_share,
                                           setting.duration,
                                           setting.planned_every,
                                           {}});
  Setting only = setting;
  only.straggler_rate = 0;
  only.corruption_rate = 0;
  for (std::uint64_t seed = first_seed_; seed < first_seed_ + seeds_; ++seed) {
    std::vector<Failure>& failures = added.failures.emplace_back();
    Incidents incidents(only, seed);
    while (incidents.next() < setting.duration) {
      const Incident one = incidents.take();
      if (one.what == Incident::What::planned)
        failures.push_back({.at = one.at, .is_planned = true});
      else
        failures.push_back({one.at, one.kind->nodes, one.kind->detection, one.kind->repair});
    }
  }
  return added;
}

double AtBest::ratio(const Setting& setting) {
  double sum = 0;
  for (const std::vector<Failure>& failures : known(setting).failures)
    sum += Replay(setting).ratio(failures);
  return std::min(1.0, sum / static_cast<double>(seeds_) * (1 + rounding));
}

}  // namespace pipewright::goodput
