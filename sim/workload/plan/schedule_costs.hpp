#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/schedule.hpp"
#include "schedules/search/search.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/modelled.hpp"

namespace pipewright::workload {

// Functions that estimate network times for planning an order of passes. If they are empty, no pass
// waits for the network.
struct NetworkEstimate {
  // Adds to the pass times of a placement the estimated time of collectives within passes, as far
  // as compute does not hide it.
  std::function<void(const schedules::Routes&, StageCosts&)> add_waits;
  // Returns the longest time in seconds that a boundary tensor of `bytes` bytes takes from any
  // stage to the next.
  std::function<double(const schedules::Routes&, std::uint64_t bytes)> hop;
  // Memory capacity of each device in bytes; empty: that of each device's type of GPU.
  std::vector<std::uint64_t> memory;
};

// Returns the costs that are the same for all schedules with the same routes and the same number of
// slices.
StageCosts shared_costs(const config::Scenario& scenario, const schedules::Schedule& schedule,
                        const Gpus& gpus);
// Throws config::Error if the memory of a schedule exceeds what 63 bits can count.
void check_memory_can_be_counted(const schedules::Schedule& schedule, const StageCosts& costs);

// Throws config::Error if the scenario has a model, which is divided into whole layers, and the
// stages of a schedule are parts of layers.
void check_whole_layers(const config::Scenario& scenario, std::string_view schedule,
                        const schedules::Routes& routes);

// Throws config::Error if costs exceed what can be simulated: passes and optimizer steps of 1e9 s,
// the limit for times in a scenario, and 1e5 buckets of gradients per stage.
void check_limits(const config::Scenario& scenario, const StageCosts& costs);

// Returns a schedule without passes, which stands for a placement when costs of its stages are
// computed.
schedules::Schedule on_placement(const config::Scenario& scenario, const schedules::Routes& routes,
                                 const std::string& name = "placement");

// Returns the costs of a placement's stages as a plan has them, but without the allowance for
// fragmentation. Error messages name the schedule `name`.
StageCosts placement_costs(const config::Scenario& scenario, const schedules::Routes& routes,
                           const Gpus& gpus, const std::string& name);

// Returns the request for the search whose result is the schedule `searched`.
schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec, const Gpus& gpus,
                                        const NetworkEstimate& estimate);

// Returns the pass times that a scenario gives, plus the overhead of each pass. A single time, or
// one time per device, is divided among a device's chunks.
schedules::PassTimes pass_times(const config::Scenario& scenario,
                                const schedules::Schedule& schedule);

}  // namespace pipewright::workload
