#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

// What the order of receives costs. A rank posts its SENDs and RECVs as it comes to them and goes
// on; a transfer takes one hop from when both its ends are posted. Communication libraries run the
// receives of one queue one after the other, so that a tensor that has arrived stands behind one
// that has not: PyTorch's own check sees none of this.
namespace pipewright::schedules {

// Which receives complete in the order in which they were posted.
enum class ReceiveQueue : std::uint8_t {
  of_rank,  // all of a rank: batched transfers, which share the group's stream
  of_pair,  // those from one rank to another
  none,     // a pass waits for its own tensor only, and every receive is posted from the start
};

// A pass that stood still although its tensor was, or could have been, there.
struct ReceiveWait {
  std::uint32_t rank = 0;
  std::size_t index = 0;  // of the action in the rank's row
  TorchAction action;
  TorchAction behind;  // the receive that held it up: its own, if that was posted late
  double seconds = 0;
};

struct ReceiveTiming {
  double makespan = 0;             // seconds
  std::vector<ReceiveWait> waits;  // by rank and index
};

// A rank that waits for ever.
struct BlockedRank {
  std::uint32_t rank = 0;
  std::size_t index = 0;
  TorchAction action;
  std::optional<TorchAction> receive;  // that it waits for; none where its own rank is late
  std::optional<TorchAction> behind;   // the earlier receive that this one stands behind
};

class ReceiveDeadlock : public Error {
 public:
  ReceiveDeadlock(const Schedule& schedule, std::vector<BlockedRank> blocked);
  const std::vector<BlockedRank>& blocked() const { return blocked_; }

 private:
  std::vector<BlockedRank> blocked_;
};

// Times the rows of a checked compute_comms schedule; `hop` in seconds. Collectives take no time.
// Throws ReceiveDeadlock.
ReceiveTiming time_receives(const TorchRows& rows, const Schedule& schedule, const PassTimes& times,
                            double hop, ReceiveQueue queue);

}  // namespace pipewright::schedules
