#pragma once

#include <optional>

#include "schedules/blocks/building_block.hpp"
#include "schedules/justify.hpp"
#include "schedules/parameters.hpp"

// Families in the V shape are published as orders for F = I = W. For other times, or with latency,
// these orders are starting points of an order that fits the times: within the same memory and
// never longer.
namespace pipewright::schedules {

// Returns true if the parameters have times or a latency to fit to.
bool has_times(const Parameters& parameters);

// Returns F, I and W of each stage, from times of each stage, or of each device divided among its
// chunks.
PassTimes stage_times(const Parameters& parameters, const Routes& routes);

// Returns the best of the given orders and of their justified versions (justify.hpp): the one with
// the smallest longest span of a device, then the earliest end, then the first. It ends no later
// than the best given order. Returns nothing if no order runs within the pipeline's memory. Large
// orders are not justified, which takes a microsecond per pass.
std::optional<Plan> fitted(const Pipeline& pipeline, const std::vector<Order>& orders);

// Makes a schedule from a block with a peak and fits it to the times. It starts from two orders:
// the block reordered for unit passes, and the block as drawn.
Schedule fitted_block(const BuildingBlock& block, const Parameters& parameters);

// The planner of ZB-V for the times of the pipeline (Qi et al. 2024, arXiv 2401.10241, section 6;
// zbv.py of sail-sg/zero-bubble-pipeline-parallelism). Returns the best of four variants, or
// nothing if all fail. A device holds the activations of 2p chunks, of which I frees the part
// `input_grad_releases`.
std::optional<Order> greedy_v(const Pipeline& pipeline, double input_grad_releases);

}  // namespace pipewright::schedules
