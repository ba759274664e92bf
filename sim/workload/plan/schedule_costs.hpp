#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedules/schedule.hpp"
#include "schedules/search/search.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/plan/modelled.hpp"

namespace pipewright::workload {

// What those who plan an order for given times are told of the network; without it, nothing waits.
struct NetworkEstimate {
  // Adds the collectives within passes to a placement's times, as add_exposed_time() does.
  std::function<void(const schedules::Routes&, StageCosts&)> add_waits;
  // Seconds that a boundary tensor of so many bytes takes from stage to stage, at the most.
  std::function<double(const schedules::Routes&, std::uint64_t bytes)> hop;
  std::vector<std::uint64_t> memory;  // of each device, bytes; none: what its GPU's type has
};

// The costs that all schedules with the same routes and slices share.
StageCosts shared_costs(const config::Scenario& scenario, const schedules::Schedule& schedule,
                        const Gpus& gpus);
// Throws config::Error where a schedule's bytes are more than can be counted.
void check_memory_can_be_counted(const schedules::Schedule& schedule, const StageCosts& costs);

// Throws config::Error where costs are beyond what can be simulated: passes and steps of more than
// 1e9 s, which is what a scenario may give, and more than 1e5 buckets of gradients a stage.
void check_limits(const config::Scenario& scenario, const StageCosts& costs);

// A schedule without passes, for what a placement's stages cost.
schedules::Schedule on_placement(const config::Scenario& scenario, const schedules::Routes& routes,
                                 const std::string& name = "placement");

// What the stages of a placement cost, as in a plan, but for the allowance for fragmentation.
// Errors are about the schedule called `name`.
StageCosts placement_costs(const config::Scenario& scenario, const schedules::Routes& routes,
                           const Gpus& gpus, const std::string& name);

// The order that `searched` stands for, as a request of a search.
schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec, const Gpus& gpus,
                                        const NetworkEstimate& estimate);

// The times of a scenario's passes as given there, with what lies between passes: one time, or one
// per device, is shared by a device's chunks.
schedules::PassTimes pass_times(const config::Scenario& scenario,
                                const schedules::Schedule& schedule);

}  // namespace pipewright::workload
