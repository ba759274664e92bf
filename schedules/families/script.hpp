#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "schedules/program.hpp"

namespace pipewright::schedules {

// Writes the program of a device with two chunks phase by phase. Each op takes the next microbatch
// of its kind on its chunk; B is an I with its W, and comes when no other W of its chunk is due.
class Script {
 public:
  struct Chunk {
    std::uint16_t stage = 0;
    std::uint32_t first_microbatch = 0;
  };
  struct Op {
    PassKind kind = PassKind::forward;
    std::uint32_t chunk = 0;
    bool fused = false;  // with the op that follows
  };

  // Microbatches of a chunk are `stride` apart. Those from `limit` on are left out.
  Script(std::array<Chunk, 2> chunks, std::uint32_t stride,
         std::uint32_t limit = std::numeric_limits<std::uint32_t>::max())
      : chunks_(chunks), stride_(stride), limit_(limit) {}

  // `rounds` times these ops, each at most once per round.
  void run(std::uint32_t rounds, const std::vector<Op>& ops);
  Program finish();

 private:
  Pass pass(const Op& op, std::uint32_t round) const;
  void flush();

  std::array<Chunk, 2> chunks_;
  std::uint32_t stride_;
  std::uint32_t limit_;
  std::array<std::array<std::uint32_t, 3>, 2> taken_{};  // [chunk][forwards, gradients, W]
  std::vector<Pass> single_;  // passes of phases of one round, not yet in the program
  Program program_;
};

}  // namespace pipewright::schedules
