#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "schedules/parameters.hpp"
#include "schedules/schedule.hpp"

// What the generators of families share.
namespace pipewright::schedules {

// A schedule of these sizes in this placement, still without programs.
Schedule without_programs(std::string name, const Parameters& parameters, Routes routes);

// Gives each device its program of one iteration, which it runs as often as the schedule says.
Schedule with_programs(Schedule schedule, const std::function<Program(std::uint32_t)>& of_device);

// The order in which a device takes its forwards, and that of its backwards. From entry e to entry
// e + period both go the same number of microbatches further, as long as entries are `regular`.
struct EntryOrder {
  std::uint32_t entries = 0;
  std::uint32_t regular = 0;
  std::uint32_t period = 1;
  std::uint32_t microbatches_a_period = 1;
  std::function<Pass(std::uint32_t entry, PassKind kind)> pass;
};

// When a device starts its backwards, and whether it splits them.
struct Pace {
  std::uint32_t warmup = 0;           // forwards before the first pair
  bool splits_backward = false;       // into I and W
  std::uint32_t weight_grad_lag = 0;  // W stays this many entries behind I
  bool fused = false;                 // of each forward and backward by turns one op
};

// The warm-up's forwards; then one forward and one backward by turns; then what is left of the
// backwards. With the backward split: I k is followed by W k - lag, and the last W come at the end.
Program one_by_one(const EntryOrder& order, const Pace& pace);

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
