#pragma once

#include "schedules/justify.hpp"

namespace pipewright::tests {

// Sets F, I and W to one or two seconds, depending on the stage.
void make_uneven(schedules::Pipeline& pipeline);

// Makes a plan that finishes each microbatch before the next one, with the least memory and the
// most idle time.
schedules::Plan one_at_a_time(const schedules::Pipeline& pipeline);

// Checks that the order is complete, has the same makespan in the timing engine, and stays within
// memory by a plain count of activations.
void check_runs(const schedules::Pipeline& pipeline, const schedules::Plan& plan);

}  // namespace pipewright::tests
