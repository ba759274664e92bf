#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "sim/config/mix.hpp"

// Random numbers that are functions of what they are for: of a seed and a place, whoever asks when.
namespace pipewright::workload {

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
