#pragma once

#include <optional>

#include "schedules/blocks/building_block.hpp"
#include "schedules/justify.hpp"
#include "schedules/parameters.hpp"

// Families in the V shape are published as orders for F = I = W. For other times, or with latency,
// their orders are the seeds of one that fits these: within the same memory, never longer.
namespace pipewright::schedules {

// Whether there is anything to fit to.
bool has_times(const Parameters& parameters);

// F, I and W of each stage, from those of each device, whose chunks share them, or of each stage.
PassTimes stage_times(const Parameters& parameters, const Routes& routes);

// Of these orders and what comes of justifying each (justify.hpp), the one with the least longest
// span of a device, then the earliest end, that ends no later than the best order as it was given;
// of equals the first. Empty if none keeps within the pipeline's memory. Large ones are not
// justified, as that takes a microsecond a pass.
std::optional<Plan> fitted(const Pipeline& pipeline, const std::vector<Order>& orders);

// The schedule of a block that has a peak, fitted to the times: from the order in which it was
// reordered for unit passes and from the one in which it was drawn.
Schedule fitted_block(const BuildingBlock& block, const Parameters& parameters);

// The planner of ZB-V for the parameters' times (Qi et al. 2024, arXiv 2401.10241, section 6, as
// zbv.py of sail-sg/zero-bubble-pipeline-parallelism has it): the best of four variants, none where
// it finds no way. A device holds 2p chunks' activations, of which I releases the part
// `input_grad_releases`.
std::optional<Order> greedy_v(const Pipeline& pipeline, double input_grad_releases);

}  // namespace pipewright::schedules
