#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// From what a scenario says of devices to the stages of a placement. Where every stage lives on
// several devices, a device's part is what the first route gives it.
namespace pipewright::workload {

// The devices that hold a stage, ascending: one, or one on each route.
std::vector<std::uint32_t> devices_of(const schedules::Routes& routes, std::uint32_t stage);

// One time, or one per device, is shared by a device's chunks, one per stage is taken as it is;
// empty where there are other numbers of times.
std::optional<std::vector<double>> stage_times(const std::vector<double>& given,
                                               const schedules::Routes& routes,
                                               std::uint32_t devices, std::uint32_t slices);
// The same for a schedule; throws config::Error, which calls the list `name`, where there are
// others.
std::vector<double> stage_times(const config::PassTimes& given, std::string_view name,
                                const schedules::Schedule& schedule);
// What lies between passes, which given times do not hold.
void add_overhead(double seconds, std::vector<double>& times);
void add_overhead(double seconds, schedules::PassTimes& times);  // of each kind
// R takes as long as F, and B as long as I and W.
void complete_times(schedules::PassTimes& times);

std::vector<Activations> stage_activations(const config::Activation& given,
                                           const schedules::Routes& routes, std::uint32_t devices,
                                           std::uint32_t slices);
std::vector<DeviceState> device_states(const config::State& given, const schedules::Routes& routes,
                                       std::uint32_t devices);

}  // namespace pipewright::workload
