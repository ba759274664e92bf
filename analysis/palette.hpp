#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "analysis/trace/rows.hpp"

// The colours of a timeline, shared by the static picture and the page. The hues are those of Okabe
// and Ito, "Color Universal Design" (2008), which people of all kinds of colour vision tell apart.
namespace pipewright::analysis {

struct Colour {
  double red;  // of 0..1, sRGB
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
}};

constexpr const KindStyle& style(trace::PassKind kind) {
  return kind_styles[static_cast<std::size_t>(kind)];
}

constexpr Colour mix(Colour a, Colour b, double share_of_b) {
  const double share_of_a = 1 - share_of_b;
  return {a.red * share_of_a + b.red * share_of_b, a.green * share_of_a + b.green * share_of_b,
          a.blue * share_of_a + b.blue * share_of_b};
}

// The chunks of a device go from dark to light; a single one has the plain colour.
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

// Black or white, whichever contrasts more: relative luminance as in WCAG 2.1, where the contrasts
// are equal at 0.179.
inline bool wants_dark_text(Colour background) {
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

}  // namespace pipewright::analysis
