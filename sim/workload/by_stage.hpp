#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// Converts the values that a scenario gives per device to values per stage. If a stage has copies
// on several devices, the device of the first route determines its value.
namespace pipewright::workload {

// Returns the devices that hold a stage, in ascending order: one device, or one for each route if
// the stage has several.
std::vector<std::uint32_t> devices_of(const schedules::Routes& routes, std::uint32_t stage);

// Returns how many of the first `microbatches` microbatches take a route.
std::uint32_t microbatches_of(const schedules::Routes& routes, std::uint32_t route,
                              std::uint32_t microbatches);

// Returns the time of each stage. A single value, or one value per device, is divided among the
// device's chunks; one value per stage is used as it is. Returns nothing for any other number of
// values.
std::optional<std::vector<double>> stage_times(const std::vector<double>& values,
                                               const schedules::Routes& routes,
                                               std::uint32_t devices, std::uint32_t slices);
// Returns the time of each stage of a schedule. Throws config::Error, which calls the list `name`,
// if the number of values fits neither devices nor stages.
std::vector<double> stage_times(const config::PassTimes& times, std::string_view name,
                                const schedules::Schedule& schedule);
// Sets the times of S and T of a split vocabulary, if the scenario gives them, under the stage that
// stands for the device. Without a model they are 0 if they are not given: the times of F and B
// then include them. Throws config::Error if the schedule has no S and T, or their number is wrong.
void set_vocabulary_times(const config::Scenario& scenario, const schedules::Schedule& schedule,
                          schedules::PassTimes& times);
// Adds `seconds`, the overhead of a pass, to each time, since the times that a scenario gives do
// not include it.
void add_overhead(double seconds, std::vector<double>& times);
void add_overhead(double seconds, schedules::PassTimes& times);  // to every kind of pass
// Sets the times of recomputations R, which take as long as F, and of whole backward passes B,
// which take as long as I and W together.
void complete_times(schedules::PassTimes& times);

std::vector<Activations> stage_activations(const config::Activation& options,
                                           const schedules::Routes& routes, std::uint32_t devices,
                                           std::uint32_t slices);
std::vector<DeviceState> device_states(const config::State& options,
                                       const schedules::Routes& routes, std::uint32_t devices);

}  // namespace pipewright::workload
