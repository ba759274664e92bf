#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "sim/base/mix.hpp"

// Random numbers that depend only on a seed and a position, so that the order in which they are
// computed does not matter.
namespace pipewright::workload {

// Returns a random number from the uniform distribution on (0, 1), made from random bits.
inline double uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53;
}

// Returns a random number from the standard normal distribution, made from random bits (Box and
// Muller, 1958).
inline double normal(std::uint64_t bits) {
  return std::sqrt(-2 * std::log(uniform(bits))) *
         std::cos(2 * std::numbers::pi * uniform(base::mix(bits)));
}

}  // namespace pipewright::workload
