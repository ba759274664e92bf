#pragma once

#include "schedules/blocks/build.hpp"
#include "schedules/catalog.hpp"

// The families that are built from a block; the entries of the catalog repeat, squeeze and reorder
// it.
namespace pipewright::schedules {

BuildingBlock v_min(const Parameters& parameters);
BuildingBlock v_half(const Parameters& parameters);
BuildingBlock v_zb(const Parameters& parameters);
BuildingBlock one_f_one_b_v(const Parameters& parameters);
BuildingBlock two_thirds_1f1b(const Parameters& parameters);
BuildingBlock grouped_interleaved_block(const Parameters& parameters);

// The schedule of a family's block.
template <BuildingBlock (*Block)(const Parameters&)>
Schedule from_block(const Parameters& parameters) {
  return build(Block(parameters), parameters.microbatches, parameters.iterations);
}

}  // namespace pipewright::schedules
