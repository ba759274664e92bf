#include "schedules/families/script.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::schedules {
namespace {

std::size_t counter_of(PassKind kind) {
  if (kind == PassKind::forward) return 0;
  return kind == PassKind::weight_grad ? 2 : 1;
}

}  // namespace

Pass Script::pass(const Op& op, std::uint32_t round) const {
  const Chunk& chunk = chunks_[op.chunk];
  const std::uint32_t index = taken_[op.chunk][counter_of(op.kind)] + round;
  return {op.kind, chunk.stage, chunk.first_microbatch + index * stride_, op.fused};
}

void Script::run(std::uint32_t rounds, const std::vector<Op>& ops) {
  if (rounds == 0) return;
  const bool all_within = std::all_of(ops.begin(), ops.end(), [&](const Op& op) {
    return pass(op, rounds - 1).microbatch < limit_;
  });
  if (all_within && rounds > 1) {
    flush();
    std::vector<Pass> body;
    for (const Op& op : ops) body.push_back(pass(op, 0));
    program_.repeat(rounds, static_cast<std::int32_t>(stride_), std::move(body));
  } else {
    // Microbatches only grow: a round with none within the limit is followed by more such.
    bool any_within = true;
    for (std::uint32_t round = 0; round < rounds && any_within; ++round) {
      any_within = false;
      for (const Op& op : ops) {
        const Pass next = pass(op, round);
        if (next.microbatch >= limit_) continue;
        single_.push_back(next);
        any_within = true;
      }
    }
  }
  for (const Op& op : ops) {
    taken_[op.chunk][counter_of(op.kind)] += rounds;
    if (op.kind == PassKind::backward)
      taken_[op.chunk][counter_of(PassKind::weight_grad)] += rounds;
  }
}

void Script::flush() {
  Program folded = fold(single_);
  for (Loop& loop : folded.loops) program_.loops.push_back(std::move(loop));
  single_.clear();
}

Program Script::finish() {
  flush();
  return std::move(program_);
}

}  // namespace pipewright::schedules
