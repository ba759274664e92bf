#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sim/execution/flows/transfer_plan.hpp"

namespace pipewright::execution {

// Duration of each plan, in seconds, if all plans start at once on an otherwise idle network. Flows
// have the max-min fair rates of FairSharing at all times, as in SimGrid.
std::vector<double> seconds_alone(std::span<const std::shared_ptr<const TransferPlan>> plans);

}  // namespace pipewright::execution
