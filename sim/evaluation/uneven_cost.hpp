#pragma once

#include "schedules/schedule.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::evaluation {

// Fraction of a run's time that is lost because experts get different numbers of tokens and
// microbatches differ: the relative difference to the same tokens and attention spread evenly, both
// on the timing engine. 0 where nothing is uneven, or where pass times are random.
double uneven_cost(const config::Scenario& scenario, const Hardware& hardware,
                   const schedules::Schedule& schedule);

}  // namespace pipewright::evaluation
