#pragma once

#include <string>

#include "analysis/report/search/rows.hpp"
#include "sim/cli/progress.hpp"
#include "sim/search/coordinator.hpp"

namespace pipewright::cli {

// Shows the progress of a search on standard error: as a bar on a terminal, as plain lines in a
// log.
class SweepProgress {
 public:
  explicit SweepProgress(bool quiet);

  void show(const search::State& state, const analysis::SearchRun& run);

 private:
  // Describes the progress of the phase, its rate and the time left. Sets `share` to the part of
  // the work that is done.
  std::string details(const search::State& state, const analysis::SearchRun& run, double& share);

  ProgressBar bar_;
  search::State::Phase phase_ = search::State::Phase::assessing;
  double phase_began_ = 0;         // seconds
  std::uint64_t done_before_ = 0;  // candidates that were simulated when the phase began
};

}  // namespace pipewright::cli
