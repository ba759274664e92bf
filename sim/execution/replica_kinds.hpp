#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/execution/job.hpp"

namespace pipewright::execution {

// Replicas by kind, for runs that simulate one replica of each kind. Replicas of a kind take the
// same time, because their messages cross equivalent links at the same times.
struct ReplicaKinds {
  std::vector<std::uint32_t> kind_of;    // by replica; kinds are numbered in order of appearance
  std::vector<std::uint32_t> simulated;  // the first replica of each kind, ascending
  // True if replicas of a kind are at the same place of their schedule at all times.
  bool are_alike = false;
};

// Every replica by itself, or, in a symmetric run, the kinds of replicas that the routes of these
// messages tell apart: boundary tensors, tied embeddings and, where passes are simulated in full
// detail, collectives of a single replica inside passes.
ReplicaKinds find_replica_kinds(const Job& job, const RankPlacement& placement);

// Planned transfers of boundary tensors between neighbouring devices.
struct HopPlans {
  struct Hop {
    ReplicaDevice source;
    std::uint32_t destination = 0;  // device
  };
  std::vector<std::vector<Phase>> plans;
  std::vector<std::uint64_t> kinds;  // transfers of one kind start together; even numbers
  std::vector<Hop> hops;
};
// Plans the transfers of all replicas; those of replicas of one kind start together. Each replica
// has the same number of plans, in the same order.
HopPlans plan_hops(const Job& job, const RankPlacement& placement,
                   std::span<const std::uint32_t> kind_of_replica);

}  // namespace pipewright::execution
