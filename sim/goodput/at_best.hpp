#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

// A bound on what simulating a job under some seeds comes to, in microseconds: the same failures,
// of which each costs what it costs at least. Nothing is slow or corrupt, nobody waits for a
// storage that others use, planned stops take no time, and every checkpoint is whole at once. Where
// failures are all there is and checkpoints are synchronous, it is what is simulated.
class AtBest {
 public:
  AtBest(std::uint64_t first_seed, std::uint64_t seeds) : first_seed_(first_seed), seeds_(seeds) {}

  // The mean of the effective training time ratios of all seeds is no more.
  double ratio(const Setting& setting);

 private:
  struct Failure {
    double at = 0;
    std::uint32_t nodes = 0;
    double detection = 0;
    double repair = 0;
    bool is_planned = false;  // then nothing is lost, and how long it takes is left out
  };
  // Failures by seed, of all settings with these.
  struct Known {
    std::vector<FailureKind> kinds;
    std::vector<TracedFailure> trace;
    double trace_share = 0;
    double duration = 0;
    double planned_every = 0;
    std::vector<std::vector<Failure>> failures;
  };
  class Replay;

  const Known& known(const Setting& setting);

  std::uint64_t first_seed_;
  std::uint64_t seeds_;
  std::deque<Known> known_;  // the last ones
};

}  // namespace pipewright::goodput
