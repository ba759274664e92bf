#pragma once

#include <cstdint>
#include <string>

#include "schedules/blocks/build.hpp"
#include "schedules/parameters.hpp"

// Functions that make the schedules of the families. The comment at each definition states its
// rule, and formulas for p devices, m microbatches and v chunks; F and B are the times of a whole
// device.
namespace pipewright::schedules {

Schedule gpipe(const Parameters& parameters);
Schedule one_f_one_b(const Parameters& parameters);
Schedule eager_one_f_one_b(const Parameters& parameters);
Schedule interlaced(const Parameters& parameters);
Schedule interleaved_one_f_one_b(const Parameters& parameters);
Schedule interleaved_low_memory(const Parameters& parameters);
Schedule interleaved_zero_bubble(const Parameters& parameters);
Schedule grouped_interleaved(const Parameters& parameters);
Schedule looped_bfs(const Parameters& parameters);
Schedule seq_one_f_one_b(const Parameters& parameters);
Schedule interleaved_seq_one_f_one_b(const Parameters& parameters);
Schedule one_f_one_b_2bw(const Parameters& parameters);
Schedule eager_2bw(const Parameters& parameters);
Schedule zb_h1(const Parameters& parameters);
Schedule zb_h2(const Parameters& parameters);
Schedule zb_1p(const Parameters& parameters);
Schedule zb_2p(const Parameters& parameters);
Schedule zb_v(const Parameters& parameters);
Schedule chimera(const Parameters& parameters);
Schedule bitpipe(const Parameters& parameters);
Schedule dualpipe(const Parameters& parameters);
Schedule dualpipe_v(const Parameters& parameters);
Schedule stp(const Parameters& parameters);
Schedule helixpipe(const Parameters& parameters);

// Returns the placement of BitPipe: two routes in opposite directions, each in a V.
Routes v_both_ways(std::uint32_t devices);
// Returns the placement of HelixPipe. Throws Error if it has too many stages.
Routes helix(const Parameters& parameters);

// Makes the automatic schedule of Qi et al. 2024 (Zero Bubble Pipeline Parallelism, arXiv
// 2401.10241, section 3.1) for one stage per device, planned with `device_times` and `hop`. It is
// the best of eight variants by the longest time from a device's first pass to its last, then by
// the makespan. A device holds the activations of at most `memory_limit_in_microbatches`
// microbatches. I frees the fraction `input_grad_releases` of them; more microbatches are then in
// flight if that shortens the plan.
Schedule greedy_zero_bubble(std::string name, const Parameters& parameters,
                            std::uint32_t memory_limit_in_microbatches);

// Return the building blocks of families that are made by repeating, squeezing and reordering one.
BuildingBlock v_min(const Parameters& parameters);
BuildingBlock v_half(const Parameters& parameters);
BuildingBlock v_zb(const Parameters& parameters);
BuildingBlock one_f_one_b_v(const Parameters& parameters);
BuildingBlock two_thirds_1f1b(const Parameters& parameters);
BuildingBlock chimera_block(const Parameters& parameters);
BuildingBlock grouped_interleaved_block(const Parameters& parameters);

// Make the schedules of families that are optimized for the pass times in the parameters, if there
// are any (fitted.hpp).
Schedule v_min_for_times(const Parameters& parameters);
Schedule v_half_for_times(const Parameters& parameters);
Schedule v_zb_for_times(const Parameters& parameters);

// Makes the schedule of a family from the building block that `Block` returns.
template <BuildingBlock (*Block)(const Parameters&)>
Schedule from_block(const Parameters& parameters) {
  return build(Block(parameters), parameters.microbatches, parameters.iterations);
}

}  // namespace pipewright::schedules
