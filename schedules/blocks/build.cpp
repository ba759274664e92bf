#include "schedules/blocks/build.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedules/blocks/reorder.hpp"

namespace pipewright::schedules {
namespace {

// Returns the index of the loop that is the steady state: the one with the most rounds among those
// with this number of passes and this step. Returns the number of loops if there is none.
std::size_t steady_loop(const Program& program, std::size_t passes, std::int32_t step) {
  constexpr std::uint32_t fewest_rounds = 3;  // Fewer rounds may be a coincidence.
  std::size_t best = program.loops.size();
  for (std::size_t i = 0; i < program.loops.size(); ++i) {
    const Loop& loop = program.loops[i];
    if (loop.body.size() != passes || loop.microbatch_step != step || loop.rounds < fewest_rounds)
      continue;
    if (best == program.loops.size() || loop.rounds > program.loops[best].rounds) best = i;
  }
  return best;
}

// Adds `rounds` * `step` microbatches to a schedule by repeating its steady state. Returns false
// and changes nothing unless every device has a loop each of whose rounds runs all passes of `step`
// microbatches.
bool lengthen(Schedule& schedule, std::uint32_t step, std::uint32_t rounds) {
  std::vector<Program> programs;
  for (const Program& original : schedule.programs) {
    const std::vector<Pass> passes = passes_of(original);
    Program program = fold(passes);
    const std::size_t passes_a_round = passes.size() / schedule.microbatches * step;
    const std::size_t steady =
        steady_loop(program, passes_a_round, static_cast<std::int32_t>(step));
    if (steady == program.loops.size()) return false;
    program.loops[steady].rounds += rounds;
    for (std::size_t later = steady + 1; later < program.loops.size(); ++later)
      for (Pass& pass : program.loops[later].body) pass.microbatch += rounds * step;
    programs.push_back(std::move(program));
  }
  schedule.programs = std::move(programs);
  schedule.microbatches += rounds * step;
  return true;
}

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
  // Warm-up and cool-down each last about as long as one microbatch takes from its first pass to
  // its last. The steady state lies between them, but sometimes it begins later.
  std::int64_t first = block.passes.front().cell;
  std::int64_t last = first;
  for (const BlockPass& placed : block.passes) {
    first = std::min(first, placed.cell);
    last = std::max(last, placed.cell);
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
