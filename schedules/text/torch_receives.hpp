#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "schedules/costs.hpp"
#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

// Computes the time lost by an unfavourable order of receives. A rank posts its SENDs and RECVs in
// order without waiting; a transfer takes one hop from the time at which both ends are posted.
// Communication libraries complete the receives of a queue one after the other, so a tensor that
// has arrived may wait behind one that has not. PyTorch's own check does not detect this.
namespace pipewright::schedules {

// Receives that share a queue, and so wait for each other: the receives of a queue complete in the
// order in which they were posted.
enum class ReceiveQueue : std::uint8_t {
  of_rank,  // All receives of a rank: batched transfers share the stream of the group.
  of_pair,  // Receives from one rank to another.
  none,     // A pass waits only for its own tensor; all receives are posted at the start.
};

// A pass that waited although its tensor had arrived, or would have arrived if its receive had been
// posted in time.
struct ReceiveWait {
  std::uint32_t rank = 0;
  std::size_t index = 0;  // Of the action in the rank's row.
  TorchAction action;
  TorchAction behind;  // The receive that delayed it: its own, if that was posted late.
  double seconds = 0;
};

struct ReceiveTiming {
  double makespan = 0;             // In seconds.
  std::vector<ReceiveWait> waits;  // By rank and index.
};

// A rank that waits forever, and what it waits for.
struct BlockedRank {
  std::uint32_t rank = 0;
  std::size_t index = 0;
  TorchAction action;
  std::optional<TorchAction>
      receive;  // The awaited receive; none if it waits for a pass of its own rank.
  std::optional<TorchAction> behind;  // The earlier receive in the queue that delays it.
};

class ReceiveDeadlock : public Error {
 public:
  ReceiveDeadlock(const Schedule& schedule, std::vector<BlockedRank> blocked);
  const std::vector<BlockedRank>& blocked() const { return blocked_; }

 private:
  std::vector<BlockedRank> blocked_;
};

// Computes the times of all actions of a checked compute_comms schedule; `hop` is in seconds.
// Collectives take no time. Throws ReceiveDeadlock if ranks wait forever.
ReceiveTiming time_receives(const TorchRows& rows, const Schedule& schedule, const PassTimes& times,
                            double hop, ReceiveQueue queue);

}  // namespace pipewright::schedules
