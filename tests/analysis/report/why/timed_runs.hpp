#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"
#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::tests {

// Returns the trace of a run on an ideal network by the timing engine, whose times are not rounded.
trace::Trace timed_run(const schedules::Schedule& schedule, const schedules::PassTimes& times,
                       double latency = 0, schedules::P2p mode = schedules::P2p::eager);

// Returns the trace of 1F1B in which F takes 1 s and B 2 s, each multiplied by the factor of its
// stage.
trace::Trace one_f_one_b(const std::vector<double>& factors, std::uint32_t microbatches,
                         double latency = 0, schedules::P2p mode = schedules::P2p::eager);

}  // namespace pipewright::tests
