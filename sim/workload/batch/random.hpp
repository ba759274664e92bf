#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

// Random numbers that are functions of what they are for: of a seed and a place, whoever asks when.
namespace pipewright::workload {

// SplitMix64's finalizer (Steele, Lea, Flood 2014): every bit of the result depends on every bit.
inline std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// In (0, 1).
inline double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53;
}

// Box and Muller 1958.
inline double normal(std::uint64_t bits) {
  return std::sqrt(-2 * std::log(uniform(bits))) *
         std::cos(2 * std::numbers::pi * uniform(mix(bits)));
}

}  // namespace pipewright::workload
