#pragma once

#include <cstdint>
#include <vector>

#include "schedules/costs.hpp"

namespace pipewright::workload {

// What one microbatch's activations take on a stage, in bytes.
struct Activations {
  std::uint64_t held = 0;                    // from the start of F
  std::uint64_t released_by_input_grad = 0;  // at the end of I; W (or B) releases what is left
};

// What a device holds whatever happens, in bytes.
struct DeviceState {
  std::uint64_t weights = 0;  // of one version
  std::uint64_t gradients = 0;
  std::uint64_t optimizer = 0;
};

// What a schedule's passes cost.
struct StageCosts {
  schedules::PassTimes times;
  std::uint64_t boundary_bytes = 0;      // of the tensor that crosses from stage to stage
  std::vector<Activations> activations;  // per virtual stage
  std::vector<DeviceState> state;        // per device
};

}  // namespace pipewright::workload
