#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Colours of a timeline, shared by the static picture and the page. The hues are those of Okabe and
// Ito, "Color Universal Design" (2008), which people with any kind of colour vision can
// distinguish.

struct Colour {
  double red;  // 0 to 1, sRGB
  double green;
  double blue;
};

struct KindStyle {
  char letter;
  const char* words;
  Colour colour;
};

inline constexpr std::array<KindStyle, trace::pass_kinds> kind_styles{{
    {'F', "forward", {0.337, 0.706, 0.914}},
    {'I', "input gradient", {0.800, 0.475, 0.655}},
    {'W', "weight gradient", {0.000, 0.620, 0.451}},
    {'B', "backward", {0.902, 0.624, 0.000}},
    {'R', "recompute", {0.941, 0.894, 0.259}},
    {'S', "output layer", {0.835, 0.369, 0.000}},
    {'T', "gradients of the output layer", {0.000, 0.447, 0.698}},
}};

constexpr const KindStyle& style(trace::PassKind kind) {
  return kind_styles[static_cast<std::size_t>(kind)];
}

constexpr Colour mix(Colour a, Colour b, double share_of_b) {
  const double share_of_a = 1 - share_of_b;
  return {a.red * share_of_a + b.red * share_of_b, a.green * share_of_a + b.green * share_of_b,
          a.blue * share_of_a + b.blue * share_of_b};
}

// Returns the colour of a pass. The chunks of a device go from dark to light; a single chunk has
// the plain colour of the kind.
constexpr Colour pass_colour(trace::PassKind kind, std::uint32_t chunk, std::uint32_t chunks) {
  constexpr Colour black{0, 0, 0};
  constexpr Colour white{1, 1, 1};
  constexpr double darkest = -0.32;  // share of black
  constexpr double lightest = 0.62;  // share of white
  const Colour plain = style(kind).colour;
  if (chunks <= 1) return plain;
  const double along = static_cast<double>(chunk) / static_cast<double>(chunks - 1);
  const double shade = darkest + (lightest - darkest) * (along < 1 ? along : 1);
  return shade < 0 ? mix(plain, black, -shade) : mix(plain, white, shade);
}

// Returns true if black text has a higher contrast to the background than white text. Relative
// luminance is that of WCAG 2.1; at 0.179 both contrasts are equal.
inline bool needs_dark_text(Colour background) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(background.red) + 0.7152 * linear(background.green) +
             0.0722 * linear(background.blue) >
         0.179;
}

inline std::string hex(Colour colour) {  // "#56b4e9"
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "#";
  for (const double channel : {colour.red, colour.green, colour.blue}) {
    const auto byte = static_cast<unsigned>(std::lround(channel * 255));
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

// Colours and words of memory components and of traffic classes. Any two of the nine, and any two
// of the six, are at least 15 apart by CIEDE2000 for normal and dichromatic vision, and every
// colour contrasts with a white and with a dark background.

struct ComponentStyle {
  const char* words;
  Colour colour;
};

constexpr Colour colour_of(unsigned rgb) {  // 0xrrggbb
  return {(rgb >> 16) / 255.0, (rgb >> 8 & 0xFF) / 255.0, (rgb & 0xFF) / 255.0};
}

// Names and colours in the order of trace::MemoryCategory, which stacks draw from bottom to top.
inline constexpr std::array<ComponentStyle, trace::memory_categories> memory_styles{{
    {"weights", colour_of(0x5e4fa2)},
    {"gradients", colour_of(0xcc79a7)},
    {"optimizer state", colour_of(0x882255)},
    {"activations", colour_of(0x66ccee)},
    {"logits", colour_of(0xf0e442)},
    {"working", colour_of(0x009e73)},
    {"gathered weights", colour_of(0xaaaa00)},
    {"buffers", colour_of(0x117733)},
    {"allowance", colour_of(0xdddddd)},
}};

// Names and colours in the order of trace::TrafficClass.
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

// Colours of a device's time outside passes. The bubble is grey; imbalance is hatched in
// `cool_down` on `warm_up`.
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

enum class PictureKind : std::uint8_t { svg, png, pdf };  // file formats of pictures

}  // namespace pipewright::analysis
