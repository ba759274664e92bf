#pragma once

#include "sim/config/communication.hpp"
#include "sim/config/variation.hpp"

namespace pipewright::workload {

// Under which a schedule's passes and its traffic run.
struct Conditions {
  config::Communication communication;
  config::Variation variation;
  std::uint32_t zero = 0;  // ZeRO level
};

}  // namespace pipewright::workload
