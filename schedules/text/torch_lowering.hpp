#pragma once

#include "schedules/routes.hpp"
#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

// Adds to the passes of each rank all other actions that it needs to run, as
// torch.distributed.pipelining does.
namespace pipewright::schedules {

// Position in its rank's row at which a receive is posted.
enum class Receives : std::uint8_t {
  at_send,      // When the sender sends, as in PyTorch: possibly long before it is needed.
  before_pass,  // Just before the pass that needs it.
  deferred,     // Likewise, but a lower rank receives from a higher one before it sends to it.
};

// Converts a schedule to compute_comms: adds UNSHARD and RESHARD of weights (those of the next
// three stages are held), REDUCE_GRAD after the last gradient of a stage, SEND and RECV. Throws
// Error if PyTorch's files cannot express the schedule, and ReceiveDeadlock (torch_receives.hpp) if
// its order can never run.
TorchRows lower(const Schedule& schedule, Receives receives);

// The three steps of lower(), in this order. Where several stages are resharded at once, they are
// in ascending order; PyTorch uses the order of a Python set.
std::vector<TorchAction> add_unshard_reshard(const std::vector<TorchAction>& passes);
std::vector<TorchAction> add_reduce_grad(const std::vector<TorchAction>& actions,
                                         std::uint32_t microbatches);
TorchRows add_transfers(const TorchRows& rows, const Schedule& schedule);

// Moves every receive to just before the pass that needs its tensor.
TorchRows receive_before_pass(const TorchRows& rows, const Routes& routes);

// Defers receives like PyTorch's defer_pp_recv: each moves to just before the pass that needs it,
// or before an earlier send to a higher rank that has sent its tensor already. Thus the lower of
// two ranks receives first, and the higher one sends first.
TorchRows defer_receives(const TorchRows& rows, const Routes& routes);

}  // namespace pipewright::schedules
