#pragma once

#include <cstdint>
#include <optional>

#include "schedules/costs.hpp"

namespace pipewright::schedules {

// What a user may choose about a schedule. Optional ones are for the families that take them.
struct Parameters {
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;  // of one iteration
  std::uint32_t iterations = 1;
  std::optional<std::uint32_t> chunks;      // stages per device
  std::optional<std::uint32_t> group_size;  // microbatches that pass a chunk before the next chunk
  std::optional<std::uint32_t> slices;      // of a microbatch along the sequence
  std::optional<std::uint32_t> recompute;   // chunks of a device whose forward keeps nothing
  // What the greedy schedules plan with: F, I and W of each device, and the latency of a hop.
  // Left empty, F = I = W and no latency.
  PassTimes device_times;
  double hop = 0;
  double input_grad_releases = 0;  // the part of a pass's activations that I, before W, frees
};

}  // namespace pipewright::schedules
