#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <span>

#include "analysis/palette.hpp"
#include "analysis/timeline/drawing.hpp"
#include "analysis/trace/rows.hpp"
#include "analysis/why/time_split.hpp"

namespace pipewright::analysis {

// The parts of a device's time in the order of a bar.
struct BarPart {
  const char* words;
  Colour colour;
  bool hatched = false;
};
inline constexpr std::array<BarPart, 11> bar_parts{{
    {"compute", {0.337, 0.706, 0.914}},
    {"tp, cp, ep collectives", time_colours::in_passes},
    {"point to point", time_colours::transfers},
    {"weight gather", time_colours::weights},
    {"gradient reduction", time_colours::gradients},
    {"norm of gradients", time_colours::norm},
    {"optimizer step", time_colours::optimizer},
    {"warm-up bubble", time_colours::warm_up},
    {"steady bubble", time_colours::steady},
    {"cool-down bubble", time_colours::cool_down},
    {"imbalance", time_colours::warm_up, true},
}};
using BarParts = std::array<double, bar_parts.size()>;  // seconds

inline BarParts parts_of(const TimeSplit& split) {
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

inline BarParts mean_parts(std::span<const TimeSplit> splits) {
  BarParts mean{};
  for (const TimeSplit& split : splits) {
    const BarParts parts = parts_of(split);
    for (std::size_t i = 0; i < parts.size(); ++i)
      mean[i] += parts[i] / static_cast<double>(splits.size());
  }
  return mean;
}

// Where the time goes (TimeSplit): of one run a bar for each device, of several a bar for each run,
// with the mean of its devices. Like draw_timeline in all else.
void draw_bubbles(std::span<const trace::Trace> runs, const std::filesystem::path& file,
                  PictureKind kind);

}  // namespace pipewright::analysis
