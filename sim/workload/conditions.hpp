#pragma once

#include <cstdint>

#include "sim/config/communication.hpp"
#include "sim/config/variation.hpp"

namespace pipewright::workload {

// Under which a schedule's passes and its traffic run.
struct Conditions {
  config::Communication communication;
  config::Variation variation;
  std::uint32_t zero = 0;  // ZeRO level

  // ZeRO-1 and 2: an iteration's weights are updated in shards, which are gathered once, before the
  // first forwards of the next or at its own end.
  bool gathers_before() const { return gathers_once() && communication.overlap_param_gather; }
  bool gathers_after() const { return gathers_once() && !communication.overlap_param_gather; }
  bool gathers_once() const { return zero == 1 || zero == 2; }
};

}  // namespace pipewright::workload
