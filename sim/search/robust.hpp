#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "analysis/report/search/robustness.hpp"
#include "analysis/report/search/rows.hpp"
#include "sim/config/text/value.hpp"
#include "sim/search/trials.hpp"
#include "sim/sweep/space.hpp"

namespace pipewright::search {

struct RobustSettings {
  std::uint32_t top = 5;  // of the best are compared
  analysis::DrawSettings draws;
  std::optional<double> error;  // of comparisons, as a standard deviation; else as measured
  bool turns = true;            // look for what changes the winner
};

// "draws=64 network=30% ...": each a word. Throws config::Error that names `option`.
RobustSettings read_robust_settings(std::span<const std::string> words, const std::string& option);
std::string robust_settings_help();  // a line for each

// The best of a search under draws, and what would change the winner. `gpu` is of its cluster.
analysis::Robustness robustness(const analysis::SearchRun& run, const Space& space,
                                const RobustSettings& settings, const Trials& trials,
                                const std::string& gpu);

}  // namespace pipewright::search
