#pragma once

#include <vector>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::tests {

// Durations of a schedule according to the timing engine.
struct ScheduleDurations {
  double makespan = 0;
  double span = 0;         // Maximum over devices of (last end - first start).
  double idle = 0;         // Makespan - busy time of a device, if all are equally busy.
  double span_bubble = 0;  // Maximum over devices of (last end - first start - busy).
};

// Returns pass times that are equal on all stages. The given times of F, I and W are those of a
// device and are divided by its number of chunks; B takes I + W.
schedules::PassTimes uniform_times(const schedules::Schedule& schedule, double forward,
                                   double input_grad, double weight_grad);

ScheduleDurations timed(const schedules::Schedule& schedule, const schedules::PassTimes& times,
                        double hop = 0, schedules::P2p mode = schedules::P2p::eager);

}  // namespace pipewright::tests
