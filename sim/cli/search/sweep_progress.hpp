#pragma once

#include <string>

#include "analysis/report/search/rows.hpp"
#include "sim/cli/progress.hpp"
#include "sim/search/coordinator.hpp"

namespace pipewright::cli {

// How far a search is, on standard error: a bar on a terminal, a plain line now and then in a log.
class SweepProgress {
 public:
  explicit SweepProgress(bool quiet);

  void show(const search::State& state, const analysis::SearchRun& run);

 private:
  // What is done of the phase, how fast, and how long the rest takes.
  std::string details(const search::State& state, const analysis::SearchRun& run, double& share);

  ProgressBar bar_;
  search::State::Phase phase_ = search::State::Phase::assessing;
  double phase_began_ = 0;         // seconds
  std::uint64_t done_before_ = 0;  // simulated when the phase began
};

}  // namespace pipewright::cli
