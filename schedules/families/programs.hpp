#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "schedules/parameters.hpp"
#include "schedules/schedule.hpp"

// Helpers for the functions that make schedules of families.
namespace pipewright::schedules {

// Makes a schedule with these sizes and this placement, whose devices have no passes so far.
Schedule without_programs(std::string name, const Parameters& parameters, Routes routes);

// Adds the passes of each device, given for one iteration and repeated for all iterations of the
// schedule.
Schedule with_programs(Schedule schedule, const std::function<Program(std::uint32_t)>& of_device);

// Splits fused pairs into separate passes in the same order, unless the parameters request fusion.
Schedule with_requested_fusion(Schedule schedule, const Parameters& parameters);

// Order in which a device runs the forwards, or the backwards, of its stages and microbatches. The
// first `regular` entries are periodic: entry e + period equals entry e, except that its microbatch
// is higher by `microbatches_a_period`.
struct EntryOrder {
  std::uint32_t entries = 0;
  std::uint32_t regular = 0;
  std::uint32_t period = 1;
  std::uint32_t microbatches_a_period = 1;
  std::function<Pass(std::uint32_t entry, PassKind kind)> pass;
};

// Pattern in which a device alternates forward and backward passes: when its backwards start, and
// whether they are split, delayed or fused.
struct Pace {
  std::uint32_t warmup = 0;           // Forwards before the first pair.
  bool splits_backward = false;       // Backwards are split into I and W.
  std::uint32_t weight_grad_lag = 0;  // W runs this many entries behind I.
  bool fused = false;                 // Each forward is fused with the backward that follows it.
};

// Makes the passes of a device: warm-up forwards, then alternating forwards and backwards, then the
// remaining backwards. If backwards are split, I of entry k is followed by W of entry k - lag; the
// W passes that are left run at the end.
Program one_by_one(const EntryOrder& order, const Pace& pace);

// Writes the passes of a device with two chunks, phase by phase. Each op runs the next microbatch
// of its kind on its chunk. B runs I and W at once, so it is allowed only if no earlier W of its
// chunk is still to run.
class Script {
 public:
  struct Chunk {
    std::uint16_t stage = 0;
    std::uint32_t first_microbatch = 0;
  };
  struct Op {
    PassKind kind = PassKind::forward;
    std::uint32_t chunk = 0;
    bool fused = false;  // Fused with the op that follows.
  };

  // Successive microbatches of a chunk differ by `stride`; passes of microbatches from `limit` on
  // are left out.
  Script(std::array<Chunk, 2> chunks, std::uint32_t stride,
         std::uint32_t limit = std::numeric_limits<std::uint32_t>::max())
      : chunks_(chunks), stride_(stride), limit_(limit) {}

  // Appends these ops `rounds` times, each time for the next microbatches. An op may occur only
  // once in `ops`.
  void run(std::uint32_t rounds, const std::vector<Op>& ops);
  Program finish();

 private:
  Pass pass(const Op& op, std::uint32_t round) const;
  void flush();

  std::array<Chunk, 2> chunks_;
  std::uint32_t stride_;
  std::uint32_t limit_;
  std::array<std::array<std::uint32_t, 3>, 2> taken_{};  // [chunk][forwards, gradients, W]
  std::vector<Pass> single_;  // Passes of phases with one round, not yet in the program.
  Program program_;
};

}  // namespace pipewright::schedules
