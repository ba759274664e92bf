#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/report/rl/rl_report.hpp"
#include "sim/config/scenario.hpp"
#include "sim/rl/setting.hpp"

namespace pipewright::rl {

// Simulates the loop, and again with one change at a time: no tail, a longer one, weights at once,
// more engines, faster training.
analysis::RlReport study(const Setting& setting);

// Simulates the loop with every division of `gpus` between training and generation: training keeps
// its layout but for the number of replicas, and all other GPUs generate. At most `max_count`
// divisions, evenly spaced. Calls look(finished share) before each. Throws config::Error if no
// division is possible.
std::vector<analysis::RlSplit> splits(const config::Scenario& scenario,
                                      const config::PostTraining& post, std::uint32_t gpus,
                                      const std::function<void(double)>& look = {},
                                      std::size_t max_count = 12);

}  // namespace pipewright::rl
