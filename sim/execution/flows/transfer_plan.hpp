#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/execution/flows/link_book.hpp"

namespace pipewright::execution {

// A collective as SimGrid carries it out: a plan whose routes are known. Made once, it can be
// started as often as its group says the same again.
struct TransferPlan {
  struct Step {
    std::vector<Transfer> transfers;  // those that take time
    double latency = 0;
  };
  std::vector<Step> steps;
  cluster::Host* host = nullptr;  // of the actors that start the transfers
};
std::shared_ptr<const TransferPlan> make_transfer_plan(std::span<const Phase> phases,
                                                       const RankPlacement& placement);

// From an actor, or before the engine runs: starts the transfers of the first step now, among all
// others that are on the way, and the next step when the last one's latency is over. At the end
// calls `done` from an actor of its own. Returns at once. Flows go into `account`.
void start(std::shared_ptr<const TransferPlan> transfer_plan, std::function<void()> done,
           const LinkAccount& account = {});

// The same from an actor that waits for the end.
void carry_out(const TransferPlan& transfer_plan, const LinkAccount& account = {});

}  // namespace pipewright::execution
