#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "schedules/search/search.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/modelled.hpp"

namespace pipewright::workload {

// Network times for planning an order with given pass times. Without them, no pass waits for the
// network.
struct NetworkEstimate {
  // Adds the collectives within passes to the times of a placement, like add_exposed_time().
  std::function<void(const schedules::Routes&, StageCosts&)> add_waits;
  // Longest time in seconds of a boundary tensor of `bytes` bytes from one stage to the next.
  std::function<double(const schedules::Routes&, std::uint64_t bytes)> hop;
  // Bytes per device; empty: the memory of each device's GPU type.
  std::vector<std::uint64_t> memory;
};

// Costs that all schedules with the same routes and slices share.
StageCosts shared_costs(const config::Scenario& scenario, const schedules::Schedule& schedule,
                        const Gpus& gpus);
// Throws config::Error if the memory of a schedule exceeds what 63 bits can count.
void check_memory_can_be_counted(const schedules::Schedule& schedule, const StageCosts& costs);

// Throws config::Error if costs exceed what can be simulated: passes and optimizer steps of 1e9 s,
// the limit for times in a scenario, and 1e5 buckets of gradients per stage.
void check_limits(const config::Scenario& scenario, const StageCosts& costs);

// A schedule without passes, which stands for a placement where costs of its stages are computed.
schedules::Schedule on_placement(const config::Scenario& scenario, const schedules::Routes& routes,
                                 const std::string& name = "placement");

// Costs of a placement's stages as in a plan, but without the allowance for fragmentation. Errors
// name the schedule `name`.
StageCosts placement_costs(const config::Scenario& scenario, const schedules::Routes& routes,
                           const Gpus& gpus, const std::string& name);

// Search request for the order that `searched` stands for.
schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec, const Gpus& gpus,
                                        const NetworkEstimate& estimate);

// Pass times that a scenario gives, with the time between passes. A single time, or one time per
// device, is divided among a device's chunks.
schedules::PassTimes pass_times(const config::Scenario& scenario,
                                const schedules::Schedule& schedule);

}  // namespace pipewright::workload
