#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/execution/flows/transfer_plan.hpp"

namespace pipewright::execution {

// How many seconds each of these plans takes where all start at once and nothing else goes on: at
// any time flows have the max-min fair rates of FairSharing, as in SimGrid.
std::vector<double> seconds_alone(std::span<const std::shared_ptr<const TransferPlan>> plans);

}  // namespace pipewright::execution
