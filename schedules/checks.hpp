#pragma once

#include "schedules/schedule.hpp"

namespace pipewright::schedules {

// Throws Error, naming device and pass, unless every device runs, for each microbatch that visits
// it, each of its stages' F once and then (after R, if that stage recomputes) B once, or I once and
// then W once, and nothing else.
// That no device waits for ever is for the engines to see (deadlock.hpp).
void check_complete(const Schedule& schedule);

}  // namespace pipewright::schedules
