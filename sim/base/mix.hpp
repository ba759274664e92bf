#pragma once

#include <cstdint>

namespace pipewright::base {

// Hashes a 64-bit number by SplitMix64's finalizer (Steele, Lea, Flood 2014): every bit of the
// result depends on every bit of `value`.
inline std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

}  // namespace pipewright::base
