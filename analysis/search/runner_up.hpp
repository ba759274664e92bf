#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/search/findings.hpp"
#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

struct PartWords {
  const char* words;
  double TimeParts::*part;
};
inline constexpr std::array<PartWords, 7> part_words{
    {{"compute", &TimeParts::compute},
     {"collectives in passes", &TimeParts::in_passes},
     {"p2p", &TimeParts::p2p},
     {"gradients", &TimeParts::gradients},
     {"weights", &TimeParts::weights},
     {"optimizer", &TimeParts::optimizer},
     {"bubble", &TimeParts::idle}}};

// Why one simulated row is worse than another: both for the same work, that of an iteration of the
// better one.
struct Comparison {
  struct Part {
    std::size_t part = 0;  // of part_words
    double seconds = 0;    // more than the better one
  };
  struct Axis {
    std::size_t axis = 0;
    std::string better;
    std::string worse;
  };
  std::size_t better = 0;  // rows
  std::size_t worse = 0;
  double behind = 0;  // in the objective, as a part
  double seconds = 0;
  double iteration_s = 0;   // of the better one
  double bytes = 0;         // more at the peak
  std::vector<Part> parts;  // all that differ, the largest difference first
  std::vector<Axis> axes;
  std::size_t twins = 0;  // of the better one: the same time and memory
};
Comparison compare_rows(const SearchRun& run, std::size_t better, std::size_t worse);

// The best of those that differ from the first in time or memory, against it; where none does, one
// that is as good.
std::optional<Comparison> runner_up(const SearchRun& run, const Findings& findings);

// "+3.1 % bubble, +1.0 % gradients, -0.4 % collectives in passes", of the iteration; differences
// that round to nothing are left out.
std::string parts_text(const Comparison& comparison);

// "tp 8 for 4, schedule 1f1b for zb-1p": what the worse one has for what the better one has.
std::string axes_text(const SearchRun& run, const Comparison& comparison);

}  // namespace pipewright::analysis
