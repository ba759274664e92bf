#pragma once

#include "schedules/pass.hpp"
#include "sim/execution/job.hpp"

namespace pipewright::execution {

// What a pass's time is multiplied by: a straggler's factor, times a random number of mean 1. The
// number is a function of seed, unit and pass alone, so it does not depend on who asks when.
double noise(const Job& job, ReplicaDevice who, const schedules::Pass& pass);

}  // namespace pipewright::execution
