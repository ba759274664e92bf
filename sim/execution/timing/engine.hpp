#pragma once

#include "sim/execution/least_times.hpp"

namespace pipewright::execution {

// Lower bound on the makespan, in seconds, of any simulation of the job, from the timing engine
// without rows. Contention, the slowdown of passes beside collectives, and collectives of other
// devices only add to it, because all times are sums and maxima of dependencies. Without contention
// the bound equals the simulation's makespan, except for schedules of several iterations, whose
// optimizer steps count with their minimum. Throws config::Error if pass times are random;
// schedules::Error and schedules::Deadlock like a run.
double lower_bound(const Job& job, LeastTimes& least_times);
double lower_bound(const Job& job);
// Duration of the optimizer step of the fastest device in the first `replicas` replicas, in
// seconds.
double least_step(const Job& job, std::uint32_t replicas);
// Throws the errors of lower_bound() that do not depend on the passes; computes nothing.
void check_bound(const Job& job, LeastTimes& least_times);

}  // namespace pipewright::execution
