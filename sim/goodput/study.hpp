#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "analysis/report/goodput/report.hpp"
#include "sim/config/scenario.hpp"
#include "sim/goodput/iteration.hpp"
#include "sim/goodput/journal.hpp"

namespace pipewright::goodput {

struct StudyOptions {
  std::uint64_t seeds = 100;
  std::size_t jobs = 1;
  bool only_asked = false;       // no other intervals, and no what-ifs
  bool spans = false;            // of the seed in the middle
  std::optional<double> tokens;  // else for the scenario's duration
  std::function<void(double share)> look;
};

// The training as asked, and with other intervals and other hardware under the same seeds, of which
// these take the first few. Throws config::Error and std::runtime_error.
analysis::GoodputReport study(const config::Scenario& scenario, const Iteration& iteration,
                              const StudyOptions& options, Journal* journal = nullptr);

}  // namespace pipewright::goodput
