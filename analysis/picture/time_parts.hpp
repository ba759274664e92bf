#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "analysis/component_palette.hpp"
#include "analysis/why/time_split.hpp"

namespace pipewright::analysis {

// The parts of a device's time in the order of a bar. Compute, communication and the optimizer
// have hues; the bubble is grey.
struct TimePart {
  const char* words;
  Colour colour;
};
inline constexpr std::array<TimePart, 11> time_parts{{
    {"compute", {0.337, 0.706, 0.914}},
    {"tp, cp, ep collectives", {0.000, 0.620, 0.451}},
    {"point to point", {0.835, 0.369, 0.000}},
    {"weight gather", {0.667, 0.667, 0.000}},
    {"gradient reduction", {0.369, 0.310, 0.635}},
    {"norm of gradients", {0.800, 0.475, 0.655}},
    {"optimizer step",
     memory_styles[static_cast<std::size_t>(trace::MemoryCategory::optimizer)].colour},
    {"warm-up bubble", {0.86, 0.87, 0.88}},
    {"steady bubble", {0.66, 0.68, 0.70}},
    {"cool-down bubble", {0.78, 0.79, 0.81}},
    {"imbalance", {0.36, 0.38, 0.40}},
}};
using TimeParts = std::array<double, time_parts.size()>;  // seconds

inline TimeParts parts_of(const TimeSplit& split) {
  return {split.computing_s(),
          split.in_passes_s,
          split.p2p_s,
          split.weights_s,
          split.gradients_s + split.embeddings_s,
          split.norm_s,
          split.optimizer_s,
          split.warm_up_s,
          split.steady_s,
          split.cool_down_s,
          split.imbalance_s};
}

inline TimeParts mean_parts(std::span<const TimeSplit> splits) {
  TimeParts mean{};
  for (const TimeSplit& split : splits) {
    const TimeParts parts = parts_of(split);
    for (std::size_t i = 0; i < parts.size(); ++i)
      mean[i] += parts[i] / static_cast<double>(splits.size());
  }
  return mean;
}

}  // namespace pipewright::analysis
