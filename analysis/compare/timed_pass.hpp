#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What makes a pass of one run the same as a pass of another.
struct PassKey {
  std::uint32_t iteration = 0;
  std::uint32_t microbatch = 0;  // or slice, counted over all iterations
  std::uint32_t stage = 0;
  trace::PassKind kind = trace::PassKind::forward;

  auto operator<=>(const PassKey&) const = default;
};

// The part of a pass that comparisons need, small enough to keep millions.
struct TimedPass {
  PassKey key;
  std::uint32_t device = 0;
  double start = 0;  // seconds
  double end = 0;
};

TimedPass timed(const trace::PassRow& row);

std::string pass_letter(trace::PassKind kind);  // "F"
std::string describe(const PassKey& key);       // "F of microbatch 3 on stage 1"

}  // namespace pipewright::analysis
