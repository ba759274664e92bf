#pragma once

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// Throws Error, naming device and pass, unless every device runs exactly the passes of its stages
// for each microbatch that visits it: F once, then R if the stage recomputes, then B once, or I
// once and W once after it. Deadlocks are not detected here but by the engines (deadlock.hpp).
void check_complete(const Schedule& schedule);

}  // namespace pipewright::schedules
