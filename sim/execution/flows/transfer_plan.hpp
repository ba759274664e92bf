#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/execution/flows/link_book.hpp"

namespace pipewright::execution {

// A collective as it is carried out: a plan whose routes are known. Made once, it can be
// started as often as its group says the same again.
struct TransferPlan {
  struct Step {
    std::vector<Transfer> transfers;  // those that take time
    double latency = 0;
  };
  std::vector<Step> steps;
  const cluster::Cluster* cluster = nullptr;  // which outlives this
  const cluster::Host* host = nullptr;        // of the actors that start the transfers
};
std::shared_ptr<const TransferPlan> make_transfer_plan(std::span<const Phase> phases,
                                                       const RankPlacement& placement);

}  // namespace pipewright::execution
