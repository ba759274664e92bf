#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/report/rl/rl_report.hpp"
#include "sim/config/scenario.hpp"
#include "sim/rl/setting.hpp"

namespace pipewright::rl {

// Simulates the loop, and again with one change at a time: no tail of long responses, a longer
// tail, twice the engines, training in half the time, new weights without delay.
analysis::RlReport study(const Setting& setting);

// Simulates the loop with the possible divisions of `gpus` between training and generation. Only
// the number of replicas of the training changes; all other GPUs generate. If more than `max_count`
// divisions are possible, takes as many, evenly spaced. Calls look(share of the finished divisions)
// before each. Throws config::Error if no division is possible.
std::vector<analysis::RlSplit> splits(const config::Scenario& scenario,
                                      const config::PostTraining& post, std::uint32_t gpus,
                                      const std::function<void(double)>& look = {},
                                      std::size_t max_count = 12);

}  // namespace pipewright::rl
