#pragma once

#include "sim/evaluation/hardware.hpp"
#include "sim/execution/least_times.hpp"

namespace pipewright::evaluation {

// Estimate of communication that a planner uses to order passes: lower bounds for the collectives
// inside passes, and the time of the slowest hop between devices. `memory` is that of each device
// in bytes; 0: unknown. Arguments passed by reference must outlive the result; `cache` must belong
// to the same hardware.
workload::NetworkEstimate estimate_network(const config::Scenario& scenario,
                                           const Hardware& hardware,
                                           std::optional<execution::LeastTimes>& cache,
                                           std::vector<std::uint64_t> memory);

// Estimate of communication from which lower bounds follow that hold for any order of passes: the
// time of the fastest hop between devices, and pass times of the first replica.
workload::NetworkEstimate least_estimate(const config::Scenario& scenario, const Hardware& hardware,
                                         std::optional<execution::LeastTimes>& cache,
                                         std::vector<std::uint64_t> memory);

// Plans a schedule, with communication estimated on the hardware and the memory of its GPUs.
workload::Plan plan_on(const config::Scenario& scenario, const config::ScheduleSpec& spec,
                       const Hardware& hardware);

// Lower bounds of the times of the job's collectives and transfers, created in `cache` on first use
// and reused later.
execution::LeastTimes& least_times(const config::Scenario& scenario, const execution::Job& job,
                                   std::optional<execution::LeastTimes>& cache);

}  // namespace pipewright::evaluation
