#pragma once

#include "schedules/search/search.hpp"
#include "sim/config/scenario.hpp"
#include "sim/workload/stage_costs.hpp"

// The schedule `searched`: the best order of passes that can be found for a scenario's own costs
// within the memory that each device has for activations.
namespace pipewright::workload {

using CostsOfPlacement = std::function<StageCosts(const schedules::Routes&)>;

// What is sought. The limit is the spec's, else `capacity`, bytes of each device; where that is 0
// or activations take nothing, 1F1B's number of microbatches. A hop takes `hop` seconds.
// `costs_of` may throw config::Error for a placement that the scenario cannot have.
schedules::SearchRequest sought(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                                const CostsOfPlacement& costs_of,
                                const std::vector<std::uint64_t>& capacity, double hop);

// Throws config::Error if no order fits.
schedules::Schedule seek(const config::ScheduleSpec& spec, const schedules::SearchRequest& request);

// What a device holds at least, whatever the order: its state and one microbatch's activations, on
// the placement that takes least.
std::vector<std::uint64_t> least_bytes(const schedules::SearchRequest& request,
                                       const CostsOfPlacement& costs_of);

}  // namespace pipewright::workload
