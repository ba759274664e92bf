#pragma once

#include "sim/evaluation/hardware.hpp"
#include "sim/execution/least_times.hpp"

namespace pipewright::evaluation {

// Those who plan an order for given times are told what the network takes at least: collectives
// within passes, the slowest hop from a device to the next. `memory` of each device in bytes; 0:
// unknown. All that is passed by reference outlives the result; `least` is for the same hardware.
workload::NetworkEstimate estimate_network(const config::Scenario& scenario,
                                           const Hardware& hardware,
                                           std::optional<execution::LeastTimes>& least,
                                           std::vector<std::uint64_t> memory);

// The same for those who want to know what no order is shorter than: the fastest hop, and passes at
// the pace of the copies that the first replica runs on.
workload::NetworkEstimate least_estimate(const config::Scenario& scenario, const Hardware& hardware,
                                         std::optional<execution::LeastTimes>& least,
                                         std::vector<std::uint64_t> memory);

// A plan with the network's estimate, on the memory that there is.
workload::Plan plan_on(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                       const Hardware& hardware);

// The job's least times, made when they are needed first.
execution::LeastTimes& least_times(const config::Scenario& scenario, const execution::Job& job,
                                   std::optional<execution::LeastTimes>& least);

}  // namespace pipewright::evaluation
