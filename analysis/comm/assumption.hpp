#pragma once

#include <cstdint>
#include <vector>

#include "analysis/comm/comparison.hpp"

namespace pipewright::analysis {

// Neighbouring sizes of a curve at which an assumed bus bandwidth is off to the same side.
struct OffRange {
  std::uint64_t from = 0;  // bytes
  std::uint64_t to = 0;
  std::size_t rows = 0;
  double least = 0;  // assumed over actual bus bandwidth
  double most = 0;
};

inline constexpr double tolerated = 0.1;  // by which an assumption may be off

// "All-reduces over 16 GPUs run at 180 GB/s": where that is off by more than 10 %.
struct AssumptionCheck {
  std::vector<OffRange> measured;  // against what was measured, and predicted
  std::vector<OffRange> predicted;
};
AssumptionCheck check_assumption(const ComparedCurve& curve, double bus_bandwidth);

// Bytes/s, with what nccl-tests multiply.
double bus_bandwidth(const Measurement& row, double seconds);

}  // namespace pipewright::analysis
