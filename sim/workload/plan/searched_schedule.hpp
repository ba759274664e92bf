#pragma once

#include <optional>
#include <vector>

#include "schedules/search/search.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// The schedule `searched`: the best order of passes that a search finds for a scenario's own costs,
// within the memory that each device has for activations.
namespace pipewright::workload {

using CostsOfPlacement = std::function<StageCosts(const schedules::Routes&)>;
using HopOnPlacement = std::function<double(const schedules::Routes&, std::uint64_t bytes)>;

// Returns the search request for a scenario. The memory limit is that of the spec or else
// `capacity`, in bytes per device. If a capacity is 0 or activations take no memory, each device
// may have as many microbatches in flight as with 1F1B. `hop` gives the seconds of a boundary
// tensor; if it is empty, those of the ideal network are used. `costs_of` may throw config::Error
// for a placement that the scenario does not allow.
schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec,
                                        const CostsOfPlacement& costs_of,
                                        const std::vector<std::uint64_t>& capacity,
                                        const HopOnPlacement& hop);

// Runs the search and returns the schedule with the best order. Throws config::Error if no order
// fits into the memory.
schedules::Schedule searched_schedule(const config::ScheduleSpec& spec,
                                      const schedules::SearchRequest& request);

// Each placement has a tightest device, whose capacity exceeds its least need by the smallest
// share. For the placement whose tightest device has the most to spare: what this device needs to
// run any order at all, and its capacity. Empty if memory does not limit the search.
struct LeastMemory {
  std::uint64_t bytes = 0;
  std::uint64_t capacity = 0;
};
std::optional<LeastMemory> least_memory(const schedules::SearchRequest& request,
                                        const std::vector<std::uint64_t>& capacity);

}  // namespace pipewright::workload
