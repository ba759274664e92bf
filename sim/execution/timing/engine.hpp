#pragma once

#include "sim/execution/least_times.hpp"

namespace pipewright::execution {

// The timing engine: passes as they follow one another where nothing contends, collectives as long
// as they take alone, and the optimizer's step after them, without SimGrid.

// Reports the rows of the first replica to the sink. Flows that share links are ignored.
// Throws schedules::Error for what has no exact time without the network, and schedules::Deadlock.
void time(const Job& job, trace::Sink& sink);

// The same without rows: seconds that no simulation of the job is shorter than. Contention, slower
// passes beside collectives and the collectives of other devices only add, since all times are sums
// and maxima of what they wait for. Equal to the simulation's makespan where nothing contends; but
// for schedules of several iterations, whose steps are then counted at the least.
// Throws config::Error if pass times are random, schedules::Error and schedules::Deadlock as a run.
double lower_bound(const Job& job, LeastTimes& least);
double lower_bound(const Job& job);
// Throws what is clear before the passes are looked at.
void check_bound(const Job& job, LeastTimes& least);

}  // namespace pipewright::execution
