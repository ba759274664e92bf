#pragma once

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// Gives a schedule more microbatches by repeating its steady state: `rounds` times `step` of them,
// where every device has a loop in which each round runs the passes of `step` microbatches. False,
// and nothing changed, where a device has none.
bool lengthen(Schedule& schedule, std::uint32_t step, std::uint32_t rounds);

}  // namespace pipewright::schedules
