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
  bool without_variants = false;  // No other intervals and no what-ifs.
  bool spans = false;             // Include the spans of the median seed.
  std::optional<double> tokens;   // If not set, the scenario's duration applies.
  std::function<void(double share)> look;
};

// Simulates the run for every seed, and variants with other checkpoint intervals and hardware for
// the first few of these seeds. Throws config::Error and std::runtime_error.
analysis::GoodputReport study(const config::Scenario& scenario, const Iteration& iteration,
                              const StudyOptions& options, Journal* journal = nullptr);

}  // namespace pipewright::goodput
