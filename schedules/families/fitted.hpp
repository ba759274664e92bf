#pragma once

#include <optional>

#include "schedules/blocks/building_block.hpp"
#include "schedules/justify.hpp"
#include "schedules/parameters.hpp"

// Families in the V shape are published as orders for F = I = W. For other times, or with latency,
// these orders are starting points of an order that fits the times: within the same memory and
// never longer.
namespace pipewright::schedules {

// Returns true if the parameters have pass times or a latency for which an order can be optimized.
bool has_times(const Parameters& parameters);

// Returns the durations of F, I and W on each stage. The parameters have them for each stage, or
// for each device; those of a device are divided among its chunks.
PassTimes stage_times(const Parameters& parameters, const Routes& routes);

// Returns the best of the given orders and of their justified versions (justify.hpp): the one whose
// longest span of a device is smallest, then the one that ends earliest, then the first. Orders are
// justified for the transfer time of the pipeline and for three others, which do not depend on it,
// so that longer transfers rarely lead to a better order. The result ends no later than the best
// given order. Returns nothing if no order runs within the pipeline's memory. Large orders are not
// justified, since that takes microseconds per pass.
std::optional<Plan> fitted(const Pipeline& pipeline, const std::vector<Order>& orders);

// Makes a schedule from a block that has a peak, optimized for the times in the parameters. It
// starts from two orders: the block reordered for passes of equal length, and the block as it is.
Schedule fitted_block(const BuildingBlock& block, const Parameters& parameters);

// Plans ZB-V for the times of the pipeline (Qi et al. 2024, arXiv 2401.10241, section 6; zbv.py of
// sail-sg/zero-bubble-pipeline-parallelism). Returns the best of four variants, or nothing if all
// fail. A device holds the activations of at most 2p chunks, of which I frees the fraction
// `input_grad_releases`.
std::optional<Order> greedy_v(const Pipeline& pipeline, double input_grad_releases);

}  // namespace pipewright::schedules
