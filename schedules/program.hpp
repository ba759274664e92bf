#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/pass.hpp"

namespace pipewright::schedules {

// `rounds` times the passes of `body`; each round adds `microbatch_step` to their microbatches.
struct Loop {
  std::vector<Pass> body;
  std::uint32_t rounds = 1;
  std::int32_t microbatch_step = 0;
};

// What one device does, in order. Kept as loops, because a steady state repeats: a million
// microbatches take no more memory than ten. An arbitrary order is one loop of one round.
struct Program {
  std::vector<Loop> loops;
  std::uint32_t iterations = 1;      // the loops run this many times,
  std::uint32_t iteration_step = 0;  // each time this many microbatches further

  // Appends a loop; one without rounds or passes leaves no trace.
  void repeat(std::uint32_t rounds, std::int32_t microbatch_step, std::vector<Pass> body);
  std::uint64_t size() const;  // passes over all iterations
};

std::vector<Pass> passes_of(const Program& program);  // one by one, over all iterations

// The same passes in the same order, as loops where they repeat with a constant shift of their
// microbatches: a flat list of a long schedule becomes a short program.
Program fold(const std::vector<Pass>& passes);

// Walks a program pass by pass: for (PassCursor at(program); !at.done(); at.next()) use(at.pass());
class PassCursor {
 public:
  explicit PassCursor(const Program& program) : program_(&program) {
    done_ = program.loops.empty() || program.iterations == 0;
    if (!done_) enter_loop();
  }

  bool done() const { return done_; }
  Pass pass() const {
    Pass result = *at_;
    result.microbatch += offset_;
    return result;
  }
  // The partner of a fused pass: both stand in the same body.
  Pass following() const {
    Pass result = at_[1];
    result.microbatch += offset_;
    return result;
  }
  void next() {
    if (++at_ != body_end_) return;
    const Loop& loop = program_->loops[loop_];
    if (++round_ < loop.rounds) {
      at_ = loop.body.data();
      offset_ += static_cast<std::uint32_t>(loop.microbatch_step);
    } else {
      next_loop();
    }
  }

 private:
  void enter_loop() {
    const Loop& loop = program_->loops[loop_];
    at_ = loop.body.data();
    body_end_ = at_ + loop.body.size();
    round_ = 0;
    offset_ = iteration_ * program_->iteration_step;
  }
  void next_loop() {
    if (++loop_ == program_->loops.size()) {
      loop_ = 0;
      done_ = ++iteration_ == program_->iterations;
    }
    if (!done_) enter_loop();
  }

  const Program* program_;
  const Pass* at_ = nullptr;
  const Pass* body_end_ = nullptr;
  std::size_t loop_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t offset_ = 0;  // added to the microbatches of the body
  std::uint32_t iteration_ = 0;
  bool done_ = true;
};

}  // namespace pipewright::schedules
