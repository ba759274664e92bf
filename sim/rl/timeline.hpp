#pragma once

#include "analysis/report/rl/rl_timeline.hpp"
#include "sim/rl/loop.hpp"
#include "sim/rl/setting.hpp"

namespace pipewright::rl {

// Returns what trainer and engines do during up to `max_steps` steps of the steady state. The
// outcome must be that of a loop with `records_engines`.
analysis::RlTimeline timeline_of(const Setting& setting, const LoopOutcome& outcome,
                                 std::size_t max_steps = 3);

}  // namespace pipewright::rl
