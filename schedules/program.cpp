#include "schedules/program.hpp"

#include <utility>

namespace pipewright::schedules {

void Program::repeat(std::uint32_t rounds, std::int32_t microbatch_step, std::vector<Pass> body) {
  if (rounds == 0 || body.empty()) return;
  loops.push_back({std::move(body), rounds, microbatch_step});
}

std::uint64_t Program::size() const {
  std::uint64_t passes = 0;
  for (const Loop& loop : loops) passes += std::uint64_t{loop.rounds} * loop.body.size();
  return passes * iterations;
}

}  // namespace pipewright::schedules
