#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/search/robustness.hpp"
#include "analysis/report/search/rows.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/what_if_runs.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

struct RobustSettings {
  std::uint32_t top = 5;  // best candidates that are compared
  analysis::DrawSettings draws;
  // Standard deviation of the error when two candidates are compared; empty: that of measured runs.
  std::optional<double> error;
  bool turns = true;  // look for perturbations that change the winner
};

// Parses words such as "draws=64" and "network=30%". Throws a config::Error that names `option`.
RobustSettings read_robust_settings(std::span<const std::string> words, const std::string& option);
std::string robust_settings_help();  // a line for each word

// Returns the classes of links, with their bandwidths, of all clusters on which the given rows run.
LinkClasses link_classes_of(const analysis::SearchRun& run, const std::vector<std::size_t>& rows,
                            const WhatIfRuns& what_if_runs);

// Simulates the best candidates of a search under random draws until `stop` returns true. Only
// draws under which each candidate was simulated count.
analysis::Robustness robustness(const analysis::SearchRun& run, const Space& space,
                                const RobustSettings& settings, const WhatIfRuns& what_if_runs,
                                const std::function<bool()>& stop);

}  // namespace pipewright::search
