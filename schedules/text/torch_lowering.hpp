#pragma once

#include "schedules/routes.hpp"
#include "schedules/schedule.hpp"
#include "schedules/text/torch_action.hpp"

// From passes to all that a rank does, as torch.distributed.pipelining lowers a schedule.
namespace pipewright::schedules {

// Where a receive is posted on its rank.
enum class Receives : std::uint8_t {
  at_send,      // when the sender sends, as PyTorch does: maybe long before it is needed
  before_pass,  // just before the pass that needs it
  deferred,     // likewise, but a lower rank receives from a higher one before it sends to that one
};

// compute_comms of a schedule: UNSHARD and RESHARD of weights (the next three stages are held),
// REDUCE_GRAD behind a stage's last gradient, SEND and RECV. Throws Error where PyTorch's files
// cannot hold the schedule, ReceiveDeadlock (torch_receives.hpp) where its order can never run.
TorchRows lower(const Schedule& schedule, Receives receives);

// The three steps, in this order. PyTorch evicts stages in the order of a Python set, we in theirs.
std::vector<TorchAction> add_unshard_reshard(const std::vector<TorchAction>& passes);
std::vector<TorchAction> add_reduce_grad(const std::vector<TorchAction>& actions,
                                         std::uint32_t microbatches);
TorchRows add_transfers(const TorchRows& rows, const Schedule& schedule);

// Moves every receive to just before its pass.
TorchRows receive_before_pass(const TorchRows& rows, const Routes& routes);

// As PyTorch's defer_pp_recv: each receive moves to just before its pass, or to where a rank sends
// to a higher one that has sent by then, whichever is first, so that of two ranks the lower one
// receives first and the higher one sends first.
TorchRows defer_receives(const TorchRows& rows, const Routes& routes);

}  // namespace pipewright::schedules
