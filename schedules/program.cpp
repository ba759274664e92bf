#include "schedules/program.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace pipewright::schedules {
namespace {

// A range of a list of passes in which each pass equals the one `period` positions before it,
// except that its microbatch is higher by `step`.
struct Run {
  std::size_t begin = 0, end = 0, period = 1;
  std::int32_t step = 0;

  std::size_t rounds() const { return (end - begin) / period; }
};

std::int32_t distance(const Pass& from, const Pass& to) {
  return static_cast<std::int32_t>(to.microbatch - from.microbatch);
}

bool repeats(const Pass& pass, const Pass& later, std::int32_t step) {
  return pass.kind == later.kind && pass.stage == later.stage && pass.fused == later.fused &&
         distance(pass, later) == step;
}

// Returns the longest range around the middle of the list that repeats with this period.
Run run_around_middle(std::span<const Pass> passes, std::size_t period) {
  const std::size_t middle = (passes.size() - period) / 2;
  Run run{.begin = middle,
          .end = middle,
          .period = period,
          .step = distance(passes[middle], passes[middle + period])};
  const auto holds = [&](std::size_t at) {
    return repeats(passes[at], passes[at + period], run.step);
  };
  while (run.end + period < passes.size() && holds(run.end)) ++run.end;
  while (run.begin > 0 && holds(run.begin - 1)) --run.begin;
  run.end += period;
  return run;
}

// Moves the beginning of the range so that no fused pair is cut, since both of its passes must be
// in the same loop body.
void keep_pairs_whole(std::span<const Pass> passes, Run& run) {
  while ((run.begin > 0 && passes[run.begin - 1].fused) ||
         (run.begin + run.period < run.end && passes[run.begin + run.period - 1].fused))
    ++run.begin;
}

void fold_into(Program& program, std::span<const Pass> passes) {
  constexpr std::size_t longest_period = 512;  // Longer periods are not worth the search.
  constexpr std::size_t fewest_rounds = 3;
  Run best;
  for (std::size_t period = 1; period <= std::min(longest_period, passes.size() / fewest_rounds);
       ++period) {
    Run run = run_around_middle(passes, period);
    keep_pairs_whole(passes, run);
    if (run.end >= run.begin + fewest_rounds * period &&
        run.end - run.begin > best.end - best.begin)
      best = run;
    if (best.end - best.begin > passes.size() / 2) break;
  }
  if (best.end == best.begin) {
    program.repeat(1, 0, {passes.begin(), passes.end()});
    return;
  }
  best.end = best.begin + best.rounds() * best.period;
  fold_into(program, passes.first(best.begin));
  const auto body = passes.subspan(best.begin, best.period);
  program.repeat(static_cast<std::uint32_t>(best.rounds()), best.step, {body.begin(), body.end()});
  fold_into(program, passes.subspan(best.end));
}

}  // namespace

void Program::repeat(std::uint32_t rounds, std::int32_t microbatch_step, std::vector<Pass> body) {
  if (rounds == 0 || body.empty()) return;
  loops.push_back({std::move(body), rounds, microbatch_step});
}

std::vector<Pass> passes_of(const Program& program) {
  std::vector<Pass> passes;
  passes.reserve(program.size());
  for (PassCursor at(program); !at.done(); at.next()) passes.push_back(at.pass());
  return passes;
}

Program fold(const std::vector<Pass>& passes) {
  Program program;
  fold_into(program, passes);
  return program;
}

std::uint64_t Program::size() const {
  std::uint64_t passes = 0;
  for (const Loop& loop : loops) passes += std::uint64_t{loop.rounds} * loop.body.size();
  return passes * iterations;
}

bool alternates_after(PassCursor at) {
  const bool forward = at.pass().kind == PassKind::forward;
  for (at.next(); !at.done(); at.next()) {
    const PassKind kind = at.pass().kind;
    if (kind == PassKind::forward) return !forward;
    if (sends_gradient(kind)) return forward;
  }
  return true;
}

}  // namespace pipewright::schedules
