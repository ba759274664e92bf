#pragma once

#include <cstdint>
#include <functional>

#include "schedules/program.hpp"

namespace pipewright::schedules {

// The order in which a device takes its forwards, and that of its backwards. From entry e to entry
// e + period both go the same number of microbatches further, as long as entries are `regular`.
struct EntryOrder {
  std::uint32_t entries = 0;
  std::uint32_t regular = 0;
  std::uint32_t period = 1;
  std::uint32_t microbatches_a_period = 1;
  std::function<Pass(std::uint32_t entry, PassKind kind)> pass;
};

// When a device starts its backwards, and whether it splits them.
struct Pace {
  std::uint32_t warmup = 0;           // forwards before the first pair
  bool splits_backward = false;       // into I and W
  std::uint32_t weight_grad_lag = 0;  // W stays this many entries behind I
};

// The warm-up's forwards; then one forward and one backward by turns; then what is left of the
// backwards. With the backward split: I k is followed by W k - lag, and the last W come at the end.
Program one_by_one(const EntryOrder& order, const Pace& pace);

}  // namespace pipewright::schedules
