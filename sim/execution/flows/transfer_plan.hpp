#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/execution/flows/link_book.hpp"

namespace pipewright::execution {

// Executable form of a collective: a plan with resolved routes. It is made once and can be started
// each time its group repeats the collective.
struct TransferPlan {
  struct Step {
    std::vector<Transfer> transfers;  // without transfers that take no time
    double latency = 0;
  };
  std::vector<Step> steps;
  const cluster::Cluster* cluster = nullptr;  // must outlive the plan
  const cluster::Host* host = nullptr;        // host of the actors that start the transfers
};
std::shared_ptr<const TransferPlan> make_transfer_plan(std::span<const Phase> phases,
                                                       const RankPlacement& placement);

}  // namespace pipewright::execution
