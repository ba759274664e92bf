#pragma once

#include <vector>

#include "analysis/trace/rows.hpp"
#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"

namespace pipewright::tests {

// A run on an ideal network by the timing engine, which does not round.
trace::Trace timed_run(const schedules::Schedule& schedule, const schedules::PassTimes& times,
                       double latency = 0, schedules::P2p mode = schedules::P2p::eager);

// 1F1B with F of one second and B of two, multiplied by the factor of the stage.
trace::Trace one_f_one_b(const std::vector<double>& factors, std::uint32_t microbatches,
                         double latency = 0, schedules::P2p mode = schedules::P2p::eager);

}  // namespace pipewright::tests
