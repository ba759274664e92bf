#include "schedules/blocks/build.hpp"

#include <algorithm>

#include "schedules/blocks/reorder.hpp"
#include "schedules/blocks/repeat.hpp"
#include "schedules/blocks/squeeze.hpp"

namespace pipewright::schedules {
namespace {

Schedule through_all_steps(const BuildingBlock& block, std::uint32_t microbatches) {
  const Grid repeated = repeat(block, microbatches);
  const Grid squeezed = squeeze(repeated);
  return to_schedule(block.reordered ? reorder(squeezed, allowed_peaks(block, repeated))
                                     : squeezed);
}

// Adds rounds to the loop that is the block's steady state. False if there is none.
bool lengthen(Program& program, std::size_t passes_a_block, std::uint32_t microbatches_a_block,
              std::uint32_t rounds) {
  const auto step = static_cast<std::int32_t>(microbatches_a_block);
  const auto is_steady = [&](const Loop& loop) {
    return loop.body.size() == passes_a_block && loop.microbatch_step == step && loop.rounds >= 3;
  };
  const auto steady = std::max_element(
      program.loops.begin(), program.loops.end(), [&](const Loop& a, const Loop& b) {
        return (is_steady(a) ? a.rounds : 0) < (is_steady(b) ? b.rounds : 0);
      });
  if (!is_steady(*steady)) return false;
  steady->rounds += rounds;
  for (auto later = steady + 1; later != program.loops.end(); ++later)
    for (Pass& pass : later->body) pass.microbatch += rounds * microbatches_a_block;
  return true;
}

bool lengthen(Schedule& schedule, const BuildingBlock& block, std::uint32_t rounds) {
  std::vector<std::size_t> passes(block.devices);
  for (const BlockPass& one : block.passes)
    ++passes[block.routes.device(one.pass.stage, one.pass.microbatch)];
  for (std::uint32_t device = 0; device < block.devices; ++device)
    if (!lengthen(schedule.programs[device], passes[device], block.microbatches, rounds))
      return false;
  schedule.microbatches += rounds * block.microbatches;
  return true;
}

}  // namespace

std::vector<std::int64_t> allowed_peaks(const BuildingBlock& block, const Grid& repeated) {
  if (block.peak) return std::vector<std::int64_t>(block.devices, *block.peak);
  return peaks_of(repeated);
}

Schedule build(const BuildingBlock& block, std::uint32_t microbatches, std::uint32_t iterations) {
  if (block.binding) check_block(block);
  // Warm-up and cool-down last about as long as one microbatch takes from its first pass to its
  // last; a steady state of at least three rounds lies between them.
  std::int64_t first = block.passes.front().cell;
  std::int64_t last = first;
  for (const BlockPass& one : block.passes) {
    first = std::min(first, one.cell);
    last = std::max(last, one.cell);
  }
  const auto blocks_a_microbatch = static_cast<std::uint32_t>((last - first) / block.interval + 1);
  const std::uint32_t core_blocks = 3 * blocks_a_microbatch + 6;
  const std::uint32_t all_blocks = microbatches / block.microbatches;
  const std::uint32_t rounds = all_blocks > core_blocks ? all_blocks - core_blocks : 0;
  Schedule schedule = through_all_steps(block, microbatches - rounds * block.microbatches);
  if (rounds > 0) {
    for (Program& program : schedule.programs) program = fold(program.loops.front().body);
    if (!lengthen(schedule, block, rounds)) schedule = through_all_steps(block, microbatches);
  }
  schedule.iterations = iterations;
  for (Program& program : schedule.programs) {
    program.iterations = iterations;
    program.iteration_step = microbatches;
  }
  return schedule;
}

}  // namespace pipewright::schedules
