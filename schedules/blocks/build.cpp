#include "schedules/blocks/build.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedules/blocks/reorder.hpp"
#include "schedules/blocks/repeat.hpp"
#include "schedules/blocks/squeeze.hpp"
#include "schedules/lengthen.hpp"

namespace pipewright::schedules {
namespace {

Schedule through_all_steps(const BuildingBlock& block, std::uint32_t microbatches) {
  const Grid repeated = repeat(block, microbatches);
  const Grid squeezed = squeeze(repeated);
  return to_schedule(block.reordered ? reorder(squeezed, allowed_peaks(block, repeated))
                                     : squeezed);
}

}  // namespace

std::vector<std::int64_t> allowed_peaks(const BuildingBlock& block, const Grid& repeated) {
  if (block.peak) return std::vector<std::int64_t>(block.devices, *block.peak);
  return peaks_of(repeated);
}

Schedule build(const BuildingBlock& block, std::uint32_t microbatches, std::uint32_t iterations) {
  if (block.binding) check_block(block);
  // Warm-up and cool-down last about as long as one microbatch takes from its first pass to its
  // last; a steady state lies between them, now and then after a longer way.
  std::int64_t first = block.passes.front().cell;
  std::int64_t last = first;
  for (const BlockPass& one : block.passes) {
    first = std::min(first, one.cell);
    last = std::max(last, one.cell);
  }
  const auto blocks_a_microbatch = static_cast<std::uint32_t>((last - first) / block.interval + 1);
  const std::uint32_t all_blocks = microbatches / block.microbatches;
  std::optional<Schedule> made;
  for (const std::uint32_t core : {2 * blocks_a_microbatch + 4, 4 * blocks_a_microbatch + 8}) {
    if (made || all_blocks <= core) break;
    const std::uint32_t rounds = all_blocks - core;
    Schedule short_one = through_all_steps(block, microbatches - rounds * block.microbatches);
    if (lengthen(short_one, block.microbatches, rounds)) made = std::move(short_one);
  }
  Schedule schedule = made ? std::move(*made) : through_all_steps(block, microbatches);
  set_iterations(schedule, iterations);
  return schedule;
}

}  // namespace pipewright::schedules
