#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/goodput/setting.hpp"

namespace pipewright::goodput {

struct Simulated {
  std::vector<analysis::GoodputOutcome> outcomes;         // By seed.
  std::vector<std::vector<analysis::GoodputSpan>> spans;  // By seed; empty without Spans::yes.
};
enum class Spans : std::uint8_t { no, yes };

// Simulates the job under each of these seeds in SimGrid; training, checkpoints and loading are
// flows over the job's links. It can be called once per process.
Simulated simulate(const Setting& setting, std::span<const std::uint64_t> seeds, Spans spans);

// Loads SimGrid in this process, so that child processes do not have to.
void load_simulator();

}  // namespace pipewright::goodput
