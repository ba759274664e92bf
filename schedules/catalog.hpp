#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::schedules {

struct BuildingBlock;

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

struct Entry {
  std::string_view name;
  std::string_view help;    // one line
  std::string_view source;  // the paper or the implementation that it is from
  bool takes_chunks = false;
  bool takes_group_size = false;
  bool takes_slices = false;
  bool takes_recompute = false;
  bool takes_times = false;  // plans with device_times, hop and input_grad_releases
  BuildingBlock (*block)(const Parameters& parameters) = nullptr;  // that it is built from, if any
  Schedule (*make)(const Parameters& parameters) = nullptr;
};

// Every schedule there is. Adding one: its file in families/, its line in catalog.cpp.
std::span<const Entry> catalog();

// Throws Error if the name is unknown or the family cannot do these sizes.
Schedule make_schedule(std::string_view name, const Parameters& parameters);

}  // namespace pipewright::schedules
