#pragma once

#include "sim/evaluation/hardware.hpp"
#include "sim/execution/least_times.hpp"

namespace pipewright::evaluation {

// Network estimate for planning an order for given pass times: lower bounds of the collectives
// inside passes, and the slowest hop between devices. `memory` is that of each device in bytes; 0:
// unknown. Arguments passed by reference must outlive the result; `cache` must belong to the same
// hardware.
workload::NetworkEstimate estimate_network(const config::Scenario& scenario,
                                           const Hardware& hardware,
                                           std::optional<execution::LeastTimes>& cache,
                                           std::vector<std::uint64_t> memory);

// Network estimate for lower bounds of any order: the fastest hop, and passes at the pace of the
// first replica's device copies.
workload::NetworkEstimate least_estimate(const config::Scenario& scenario, const Hardware& hardware,
                                         std::optional<execution::LeastTimes>& cache,
                                         std::vector<std::uint64_t> memory);

// Plans a schedule with the network's estimate and the available memory.
workload::Plan plan_on(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                       const Hardware& hardware);

// Lower bounds of the job's communication times, created in `cache` on first use.
execution::LeastTimes& least_times(const config::Scenario& scenario, const execution::Job& job,
                                   std::optional<execution::LeastTimes>& cache);

}  // namespace pipewright::evaluation
