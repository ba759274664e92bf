#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// Computes, within microseconds, an upper bound of the fraction of time that a job spends on
// training that lasts. The bound uses the failures of the simulation and charges each its minimum
// cost: there are no stragglers and no corruption, the storage is not shared, planned stops take no
// time, and checkpoints are complete at once. It equals the simulated ratio if failures are the
// only incidents and checkpoints are synchronous.
class RatioBound {
 public:
  RatioBound(std::uint64_t first_seed, std::uint64_t seeds)
      : first_seed_(first_seed), seeds_(seeds) {}

  // Returns the upper bound of the fraction of time with lasting training, averaged over all seeds.
  double ratio(const Setting& setting);

 private:
  struct Failure {
    double at = 0;
    std::uint32_t nodes = 0;
    double detection = 0;
    double repair = 0;
    bool is_planned = false;  // Nothing is lost, and the duration of the stop is ignored.
  };
  // Failures of each seed, which all settings with the same failure kinds, trace, duration and
  // planned stops share.
  struct FailureSet {
    std::vector<FailureKind> kinds;
    std::vector<TracedFailure> trace;
    double trace_share = 0;
    double duration = 0;
    double planned_every = 0;
    std::vector<std::vector<Failure>> failures;
  };
  class Replay;

  const FailureSet& failures_of(const Setting& setting);

  std::uint64_t first_seed_;
  std::uint64_t seeds_;
  std::deque<FailureSet> cache_;  // The most recent ones.
};

}  // namespace pipewright::goodput
