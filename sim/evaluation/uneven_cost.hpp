#pragma once

#include "schedules/schedule.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::evaluation {

// What part of a run's time it costs that experts get more tokens or fewer and microbatches differ,
// as the timing engine has both: of the same tokens and the same attention, evenly spread, it takes
// so much less. 0 where nothing is uneven, or passes take random times.
double uneven_cost(const config::Scenario& scenario, const Hardware& hardware,
                   const schedules::Schedule& schedule);

}  // namespace pipewright::evaluation
