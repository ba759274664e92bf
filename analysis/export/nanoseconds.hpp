#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pipewright::analysis {

// Viewers of traces keep times as whole nanoseconds. Rounding to them here, starts and ends alike,
// keeps what follows one another apart, and what is nested nested.
inline std::int64_t nanoseconds(double s) {
  constexpr double most = 9e18;  // 285 years
  return std::llround(std::clamp(s * 1e9, -most, most));
}

}  // namespace pipewright::analysis
