#pragma once

#include <cstdint>
#include <string>

#include "schedules/blocks/build.hpp"
#include "schedules/parameters.hpp"

// Generators of the families. Each definition states its rule and closed forms for p devices, m
// microbatches and v chunks; F and B are the times of a whole device.
namespace pipewright::schedules {

Schedule gpipe(const Parameters& parameters);
Schedule one_f_one_b(const Parameters& parameters);
Schedule eager_one_f_one_b(const Parameters& parameters);
Schedule interleaved_one_f_one_b(const Parameters& parameters);
Schedule interleaved_low_memory(const Parameters& parameters);
Schedule interleaved_zero_bubble(const Parameters& parameters);
Schedule grouped_interleaved(const Parameters& parameters);
Schedule looped_bfs(const Parameters& parameters);
Schedule seq_one_f_one_b(const Parameters& parameters);
Schedule one_f_one_b_2bw(const Parameters& parameters);
Schedule eager_2bw(const Parameters& parameters);
Schedule zb_h1(const Parameters& parameters);
Schedule zb_h2(const Parameters& parameters);
Schedule zb_1p(const Parameters& parameters);
Schedule zb_2p(const Parameters& parameters);
Schedule zb_v(const Parameters& parameters);
Schedule dualpipe(const Parameters& parameters);
Schedule dualpipe_v(const Parameters& parameters);

// The automatic schedule of Qi et al. 2024 (Zero Bubble Pipeline Parallelism, arXiv 2401.10241,
// section 3.1) for one stage a device: planned with `device_times` and `hop`. It is the best
// of eight variants by the longest time from a device's first pass to its last, then by the
// makespan. A device holds the activations of at most `memory_limit_in_microbatches` microbatches.
// I frees the part `input_grad_releases` of them, so more can be in flight, if that shortens the
// plan.
Schedule greedy_zero_bubble(std::string name, const Parameters& parameters,
                            std::uint32_t memory_limit_in_microbatches);

// Building blocks of the families that are made by repeating, squeezing and reordering a block.
BuildingBlock v_min(const Parameters& parameters);
BuildingBlock v_half(const Parameters& parameters);
BuildingBlock v_zb(const Parameters& parameters);
BuildingBlock one_f_one_b_v(const Parameters& parameters);
BuildingBlock two_thirds_1f1b(const Parameters& parameters);
BuildingBlock grouped_interleaved_block(const Parameters& parameters);

// Families that are fitted to the times of the parameters, if these have times (fitted.hpp).
Schedule v_min_for_times(const Parameters& parameters);
Schedule v_half_for_times(const Parameters& parameters);
Schedule v_zb_for_times(const Parameters& parameters);

// Makes the schedule of a family from its block.
template <BuildingBlock (*Block)(const Parameters&)>
Schedule from_block(const Parameters& parameters) {
  return build(Block(parameters), parameters.microbatches, parameters.iterations);
}

}  // namespace pipewright::schedules
