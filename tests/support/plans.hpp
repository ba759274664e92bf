#pragma once

#include "schedules/justify.hpp"

namespace pipewright::tests {

// Gives F, I and W one second or two, by stage.
void make_uneven(schedules::Pipeline& pipeline);

// Each microbatch all the way before the next: needs the least memory and wastes the most time.
schedules::Plan one_at_a_time(const schedules::Pipeline& pipeline);

// Checks that the order is complete, that the timing engine gets the same makespan and that a plain
// count of the activations stays within memory.
void check_runs(const schedules::Pipeline& pipeline, const schedules::Plan& plan);

}  // namespace pipewright::tests
