#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

struct Simulated {
  std::vector<analysis::GoodputOutcome> outcomes;         // by seed
  std::vector<std::vector<analysis::GoodputSpan>> spans;  // likewise, if they are wanted
};
enum class Spans : std::uint8_t { no, yes };

// The whole job under each of these seeds, in SimGrid: training, checkpoints and loading are flows
// over the job's links. A process does so once.
Simulated simulate(const Setting& setting, std::span<const std::uint64_t> seeds, Spans spans);

// Loads SimGrid, so that child processes need not.
void load_simulator();

}  // namespace pipewright::goodput
