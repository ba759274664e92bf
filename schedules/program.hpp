#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/pass.hpp"

namespace pipewright::schedules {

// Repeats the passes of `body` `rounds` times; each round adds `microbatch_step` to the
// microbatches.
struct Loop {
  std::vector<Pass> body;
  std::uint32_t rounds = 1;
  std::int32_t microbatch_step = 0;
};

// The passes of one device in order, stored as loops. A steady state repeats, so a million
// microbatches take no more memory than ten. An order without repetition is one loop of one round.
struct Program {
  std::vector<Loop> loops;
  std::uint32_t iterations = 1;      // The loops run this many times.
  std::uint32_t iteration_step = 0;  // Each iteration adds this to the microbatches.

  // Appends a loop, unless it has no rounds or no passes.
  void repeat(std::uint32_t rounds, std::int32_t microbatch_step, std::vector<Pass> body);
  std::uint64_t size() const;  // Number of passes over all iterations.
};

// Lists the passes of all iterations.
std::vector<Pass> passes_of(const Program& program);

// Finds the loops in a list of passes: sequences that repeat with a constant shift of their
// microbatches. The order of passes does not change.
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
  // Returns the second pass of a fused pair; the cursor is at the first. Both are in the same body.
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
  std::uint32_t offset_ = 0;  // Added to the microbatches of the body.
  std::uint32_t iteration_ = 0;
  bool done_ = true;
};

// Returns whether the device of a cursor alternates between forwards and backwards after the
// cursor's pass: the next F, I or B has the other direction. True at the end of the program.
bool alternates_after(PassCursor at);

}  // namespace pipewright::schedules
