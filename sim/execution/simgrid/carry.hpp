#pragma once

#include <functional>
#include <memory>

#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/flows/transfer_plan.hpp"

namespace pipewright::execution {

// Keeps actors that have finished a transfer for the next one, as long as an object of this type
// exists: creating an actor takes as long as simulating many flows. Lives on the stack of an actor.
class CarrierReuse {
 public:
  CarrierReuse();
  ~CarrierReuse();
  CarrierReuse(const CarrierReuse&) = delete;
  CarrierReuse& operator=(const CarrierReuse&) = delete;
};

// Starts the transfers of the first step now, beside all other transfers in progress, and each next
// step when the latency of the previous one has passed. At the end it calls `done` from an actor of
// its own. Returns at once; call it from an actor, or before the engine runs. Flows are recorded in
// `account`.
void start(std::shared_ptr<const TransferPlan> transfer_plan, std::function<void()> done,
           const LinkAccount& account = {});

// Runs the transfers of all steps of a plan, as start() does, and blocks the calling actor until
// the last one has ended.
void carry_out(const TransferPlan& transfer_plan, const LinkAccount& account = {});

}  // namespace pipewright::execution
