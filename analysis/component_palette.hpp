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
    {"gradient reduction", colour_of(0x5e4fa2)},
    {"weight gathering", colour_of(0xaaaa00)},
    {"tied embeddings", colour_of(0xf0e442)},
    {"collectives in passes", colour_of(0x009e73)},
}};

}  // namespace pipewright::analysis
