#pragma once

#include <optional>
#include <vector>

#include "schedules/search/search.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// The schedule `searched`: the best order of passes that can be found for a scenario's own costs
// within the memory that each device has for activations.
namespace pipewright::workload {

using CostsOfPlacement = std::function<StageCosts(const schedules::Routes&)>;
using HopOnPlacement = std::function<double(const schedules::Routes&, std::uint64_t bytes)>;

// What is searched. The limit is the spec's, else `capacity`, bytes of each device; where that is 0
// or activations take nothing, 1F1B's number of microbatches. `hop`: seconds of a boundary tensor;
// empty: those of the ideal network.
// `costs_of` may throw config::Error for a placement that the scenario cannot have.
schedules::SearchRequest search_request(const config::Scenario& scenario,
                                        const config::ScheduleSpec& spec,
                                        const CostsOfPlacement& costs_of,
                                        const std::vector<std::uint64_t>& capacity,
                                        const HopOnPlacement& hop);

// Throws config::Error if no order fits.
schedules::Schedule searched_schedule(const config::ScheduleSpec& spec,
                                      const schedules::SearchRequest& request);

// Bytes of the device that has least to spare, whatever the order, on the placement where that is
// most; and what it may hold. None where memory does not limit the search.
struct LeastMemory {
  std::uint64_t bytes = 0;
  std::uint64_t capacity = 0;
};
std::optional<LeastMemory> least_memory(const schedules::SearchRequest& request,
                                        const std::vector<std::uint64_t>& capacity);

}  // namespace pipewright::workload
