#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// Values per device of a scenario as values per stage of a placement. If a stage runs on several
// devices, the device of the first route determines its share.
namespace pipewright::workload {

// Devices that hold a stage, in ascending order: one device, or one on each route.
std::vector<std::uint32_t> devices_of(const schedules::Routes& routes, std::uint32_t stage);

// Times of the stages. A single value, or one value per device, is divided among the device's
// chunks; one value per stage is used as it is. Returns nothing for any other number of values.
std::optional<std::vector<double>> stage_times(const std::vector<double>& values,
                                               const schedules::Routes& routes,
                                               std::uint32_t devices, std::uint32_t slices);
// Times of a schedule's stages. Throws config::Error, which calls the list `name`, for an
// unsupported number of values.
std::vector<double> stage_times(const config::PassTimes& times, std::string_view name,
                                const schedules::Schedule& schedule);
// Adds the time between passes, which the times of a scenario do not include.
void add_overhead(double seconds, std::vector<double>& times);
void add_overhead(double seconds, schedules::PassTimes& times);  // to every kind of pass
// Derives the times of R, which takes as long as F, and of B, which takes as long as I and W.
void complete_times(schedules::PassTimes& times);

std::vector<Activations> stage_activations(const config::Activation& options,
                                           const schedules::Routes& routes, std::uint32_t devices,
                                           std::uint32_t slices);
std::vector<DeviceState> device_states(const config::State& options,
                                       const schedules::Routes& routes, std::uint32_t devices);

}  // namespace pipewright::workload
