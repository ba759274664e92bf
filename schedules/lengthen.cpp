#include "schedules/lengthen.hpp"

#include <utility>

namespace pipewright::schedules {
namespace {

// The place of the longest steady loop among the program's, or their number.
std::size_t steady_loop(const Program& program, std::size_t passes, std::int32_t step) {
  constexpr std::uint32_t fewest_rounds = 3;  // fewer may be chance
  std::size_t best = program.loops.size();
  for (std::size_t i = 0; i < program.loops.size(); ++i) {
    const Loop& loop = program.loops[i];
    if (loop.body.size() != passes || loop.microbatch_step != step || loop.rounds < fewest_rounds)
      continue;
    if (best == program.loops.size() || loop.rounds > program.loops[best].rounds) best = i;
  }
  return best;
}

}  // namespace

bool lengthen(Schedule& schedule, std::uint32_t step, std::uint32_t rounds) {
  std::vector<Program> programs;
  for (const Program& given : schedule.programs) {
    const std::vector<Pass> passes = passes_of(given);
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

}  // namespace pipewright::schedules
