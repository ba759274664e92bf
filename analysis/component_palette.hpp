#pragma once

#include <array>

#include "analysis/palette.hpp"
#include "analysis/trace/rows.hpp"

// The colours and words of what a device holds and what a link carries. Each two of the nine, and
// of the six, are at least 15 apart by CIEDE2000 for normal and dichromatic eyes, and all stand out
// from a white and from a dark ground.
namespace pipewright::analysis {

struct ComponentStyle {
  const char* words;
  Colour colour;
};

constexpr Colour colour_of(unsigned rgb) {  // 0xrrggbb
  return {(rgb >> 16) / 255.0, (rgb >> 8 & 0xFF) / 255.0, (rgb & 0xFF) / 255.0};
}

// In the order of trace::MemoryCategory, which is that of a stack from below.
inline constexpr std::array<ComponentStyle, trace::memory_categories> memory_styles{{
    {"weights", colour_of(0x5e4fa2)},
    {"gradients", colour_of(0xcc79a7)},
    {"optimizer state", colour_of(0x882255)},
    {"activations", colour_of(0x66ccee)},
    {"logits", colour_of(0xf0e442)},
    {"recomputed layer", colour_of(0x009e73)},
    {"gathered weights", colour_of(0xaaaa00)},
    {"buffers", colour_of(0x117733)},
    {"allowance", colour_of(0xdddddd)},
}};

// In the order of trace::TrafficClass.
inline constexpr std::array<ComponentStyle, trace::traffic_classes> traffic_styles{{
    {"activations", colour_of(0x66ccee)},
    {"gradients of activations", colour_of(0xcc79a7)},
    {"gradient reduction", colour_of(0x336600)},
    {"weight gathering", colour_of(0xaaaa00)},
    {"tied embeddings", colour_of(0x3300ff)},
    {"collectives in passes", colour_of(0x9966ff)},
}};

constexpr Colour traffic_colour(trace::TrafficClass traffic) {
  return traffic_styles[static_cast<std::size_t>(traffic)].colour;
}

// What a device does besides passes, and when it does nothing. The bubble is grey; imbalance is
// hatched, `cool_down` on `warm_up`.
namespace time_colours {
inline constexpr Colour in_passes = traffic_colour(trace::TrafficClass::in_passes);
inline constexpr Colour transfers = colour_of(0x996666);
inline constexpr Colour weights = traffic_colour(trace::TrafficClass::gather_weights);
inline constexpr Colour gradients = traffic_colour(trace::TrafficClass::reduce_gradients);
inline constexpr Colour embeddings = traffic_colour(trace::TrafficClass::tie_embeddings);
inline constexpr Colour norm = colour_of(0x99cc99);
inline constexpr Colour optimizer =
    memory_styles[static_cast<std::size_t>(trace::MemoryCategory::optimizer)].colour;
inline constexpr Colour warm_up = colour_of(0xc3cad3);
inline constexpr Colour steady = colour_of(0x8b95a3);
inline constexpr Colour cool_down = colour_of(0x5b6470);
}  // namespace time_colours

}  // namespace pipewright::analysis
