#pragma once

#include <cstdint>
#include <string>

#include "schedules/blocks/build.hpp"
#include "schedules/parameters.hpp"

// The generators, by family. Each states its rule and closed forms for p devices, m microbatches,
// v chunks, F and B the times of a whole device.
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
// section 3.1) for one stage a device: planned with `device_times` and `hop`, the best of eight
// variants by the longest time from a device's first pass to its last, then by the makespan. No
// device ever holds more than the activations of so many microbatches, of which I releases
// `input_grad_releases`; more than so many are in flight only where that shortens the plan.
Schedule greedy_zero_bubble(std::string name, const Parameters& parameters,
                            std::uint32_t memory_limit_in_microbatches);

// The families that are built from a block; the entries of the catalog repeat, squeeze and reorder
// it.
BuildingBlock v_min(const Parameters& parameters);
BuildingBlock v_half(const Parameters& parameters);
BuildingBlock v_zb(const Parameters& parameters);
BuildingBlock one_f_one_b_v(const Parameters& parameters);
BuildingBlock two_thirds_1f1b(const Parameters& parameters);
BuildingBlock grouped_interleaved_block(const Parameters& parameters);

// Families that are fitted to the parameters' times, if there are any (fitted.hpp).
Schedule v_min_for_times(const Parameters& parameters);
Schedule v_half_for_times(const Parameters& parameters);
Schedule v_zb_for_times(const Parameters& parameters);

// The schedule of a family's block.
template <BuildingBlock (*Block)(const Parameters&)>
Schedule from_block(const Parameters& parameters) {
  return build(Block(parameters), parameters.microbatches, parameters.iterations);
}

}  // namespace pipewright::schedules
