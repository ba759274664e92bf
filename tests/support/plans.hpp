#pragma once

#include "schedules/justify.hpp"

namespace pipewright::tests {

// Gives the stages different times: F, I and W take one or two seconds each.
void make_uneven(schedules::Pipeline& pipeline);

// Makes a plan that runs one microbatch from start to end before the next one. It needs the least
// memory and idles most.
schedules::Plan one_at_a_time(const schedules::Pipeline& pipeline);

// Checks that the order is complete, has the same makespan in the timing engine, and stays within
// memory by a plain count of activations.
void check_runs(const schedules::Pipeline& pipeline, const schedules::Plan& plan);

}  // namespace pipewright::tests
