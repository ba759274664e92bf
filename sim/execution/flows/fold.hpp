#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/execution/flows/transfer_plan.hpp"

namespace pipewright::execution {

// Many collectives, up to symmetry: groups that fare alike have one plan.
struct Folded {
  std::vector<std::shared_ptr<const TransferPlan>> transfer_plans;
  std::vector<std::uint32_t> plan_of;  // of each group
  // Of each shared link, the one that stands for its class.
  std::unordered_map<const cluster::Link*, const cluster::Link*> stand_in;
};

// Puts flows, links and groups into classes until all flows of a class cross equally many links of
// each class, all links of a class carry equally many flows of each class, and all groups of a
// class have equally many flows of each class in each phase (the coarsest equitable partition, by
// colour refinement). Max-min fair sharing then gives all flows of a class the same rate at all
// times, and one flow that counts on each link as often as its class does stands for all of them.
// Groups that share no links with others are a case of this, as are the lanes of a symmetric
// placement; a group that differs in anything keeps its flows. Exact but for rounding.
//
// `plans[g]` is what group g does, and `kinds[g]` of which kind it is: groups of one kind start
// together, those of different kinds whenever they like. Without kinds all start together. Adds
// routes to the cluster.
Folded fold(const cluster::Cluster& cluster, const RankPlacement& placement,
            std::span<const std::vector<Phase>> plans, std::span<const std::uint64_t> kinds = {});

// The same where others use the network as well, whose folding says which links they stand on: a
// class of links that theirs have in common is that one link here, too.
Folded fold_beside(const Folded& others, const cluster::Cluster& cluster,
                   const RankPlacement& placement, std::span<const std::vector<Phase>> plans,
                   std::span<const std::uint64_t> kinds);

}  // namespace pipewright::execution
