#pragma once

#include <functional>
#include <memory>

#include "sim/execution/flows/link_book.hpp"
#include "sim/execution/flows/transfer_plan.hpp"

namespace pipewright::execution {

// While one is there, actors that have carried something wait for more to carry: making an actor
// takes as long as many of its flows do. Stands on an actor's stack.
class KeptCarriers {
 public:
  KeptCarriers();
  ~KeptCarriers();
  KeptCarriers(const KeptCarriers&) = delete;
  KeptCarriers& operator=(const KeptCarriers&) = delete;
};

// From an actor, or before the engine runs: starts the transfers of the first step now, among all
// others that are on the way, and the next step when the last one's latency is over. At the end
// calls `done` from an actor of its own. Returns at once. Flows go into `account`.
void start(std::shared_ptr<const TransferPlan> transfer_plan, std::function<void()> done,
           const LinkAccount& account = {});

// The same from an actor that waits for the end.
void carry_out(const TransferPlan& transfer_plan, const LinkAccount& account = {});

}  // namespace pipewright::execution
