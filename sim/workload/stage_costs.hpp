#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/routes.hpp"
#include "sim/config/memory.hpp"

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

// From what a scenario says of devices to the stages of a placement. Where every stage lives on
// several devices, a device's part is what the first route gives it.

// One time, or one per device, is shared by a device's chunks, one per stage is taken as it is;
// empty where there are other numbers of times.
std::optional<std::vector<double>> stage_times(const std::vector<double>& given,
                                               const schedules::Routes& routes,
                                               std::uint32_t devices, std::uint32_t slices);
// R takes as long as F, and B as long as I and W.
void complete_times(schedules::PassTimes& times);

std::vector<Activations> stage_activations(const config::Activation& given,
                                           const schedules::Routes& routes, std::uint32_t devices,
                                           std::uint32_t slices);
std::vector<DeviceState> device_states(const config::State& given, const schedules::Routes& routes,
                                       std::uint32_t devices);

}  // namespace pipewright::workload
