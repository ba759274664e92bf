#pragma once

#include <vector>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::tests {

// A schedule's figures by the timing engine.
struct Timed {
  double makespan = 0;
  double span = 0;         // max over devices of (last end - first start)
  double idle = 0;         // makespan - busy of a device, where all are equally busy
  double span_bubble = 0;  // max over devices of (last end - first start - busy)
};

// The same time for every stage: F and B per device, shared by its chunks. B is I + W.
schedules::PassTimes uniform_times(const schedules::Schedule& schedule, double forward,
                                   double input_grad, double weight_grad);

Timed timed(const schedules::Schedule& schedule, const schedules::PassTimes& times, double hop = 0,
            schedules::P2p mode = schedules::P2p::eager);

}  // namespace pipewright::tests
