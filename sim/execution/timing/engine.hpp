#pragma once

#include "sim/execution/least_times.hpp"

namespace pipewright::execution {

// Seconds that no simulation of the job is shorter than, by the timing engine without its rows.
// Contention, slower passes beside collectives and the collectives of other devices only add, since
// all times are sums and maxima of what they wait for. Equal to the simulation's makespan where
// nothing contends; but for schedules of several iterations, whose steps are then counted at the
// least.
// Throws config::Error if pass times are random, schedules::Error and schedules::Deadlock as a run.
double lower_bound(const Job& job, LeastTimes& least);
double lower_bound(const Job& job);
// Seconds of the shortest optimizer's step that a device of the first so many replicas makes.
double least_step(const Job& job, std::uint32_t replicas);
// Throws what is clear before the passes are looked at.
void check_bound(const Job& job, LeastTimes& least);

}  // namespace pipewright::execution
