#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/execution/flows/transfer_plan.hpp"

namespace pipewright::execution {

// Plans of collectives, reduced by symmetry: equivalent groups share one plan.
struct Folded {
  std::vector<std::shared_ptr<const TransferPlan>> transfer_plans;
  std::vector<std::uint32_t> plan_of;  // by group: index into transfer_plans
  // Link that represents the class of each shared link.
  std::unordered_map<const cluster::Link*, const cluster::Link*> stand_in;
};

// Whether classes distinguish flows that cross equivalent links in another order, and links at
// other positions of the same flows. The order does not change the rates of these flows, but other
// traffic that is folded beside them may load the first links of their routes and not the last
// ones.
enum class LinkOrder : std::uint8_t { ignored, kept };

// Links that classes tell apart: all shared links, or only those that may limit a rate
// (limiting_links.hpp). Folded flows may leave out the links between which classes do not tell.
enum class FoldedLinks : std::uint8_t { shared, limiting };

// Groups flows, links and collectives' groups into classes such that all flows of a class cross the
// same number of links of each class, all links of a class carry the same number of flows of each
// class, and all groups of a class have the same number of flows of each class in each phase (the
// coarsest equitable partition, by colour refinement). Max-min fair sharing then gives all flows of
// a class the same rate at all times, so one flow that counts on each link as often as its class
// does stands for all of them. Groups that share no links with others are a special case, as are
// the lanes of a symmetric placement; a group that differs in any way keeps its flows. Exact but
// for rounding.
//
// `plans[g]` is the plan of group g, and `kinds[g]` its kind: groups of one kind start together,
// groups of different kinds at independent times. Without kinds all groups start together. Adds
// routes to the cluster.
Folded fold(const cluster::Cluster& cluster, const RankPlacement& placement,
            std::span<const std::vector<Phase>> plans, std::span<const std::uint64_t> kinds = {},
            LinkOrder order = LinkOrder::ignored, FoldedLinks links = FoldedLinks::shared);

// Number of the class of each group, if the order of links is kept: equal numbers for groups of one
// class.
std::vector<std::uint64_t> classes_of_groups(const RankPlacement& placement,
                                             std::span<const std::vector<Phase>> plans,
                                             std::span<const std::uint64_t> kinds);

// Replicas that take part in each group: they start it together, and wait for its end together.
struct Participants {
  std::vector<std::uint32_t> replicas;  // replicas of the first group, then of the next one, ..
  std::vector<std::size_t> ends;        // end of each group's replicas in `replicas`

  std::span<const std::uint32_t> of(std::size_t group) const {
    const std::size_t begin = group == 0 ? 0 : ends[group - 1];
    return std::span(replicas).subspan(begin, ends[group] - begin);
  }
};

// Number of the class of each of `replicas` replicas in the coarsest partition that is equitable
// for replicas as well: all replicas of a class take part in the same number of groups of each
// class, and all groups of a class have the same number of participants of each class. Replicas of
// a class are at the same point of their schedule at all times. Empty if there are more than `most`
// classes.
std::vector<std::uint64_t> classes_of_replicas(const RankPlacement& placement,
                                               std::span<const std::vector<Phase>> plans,
                                               std::span<const std::uint64_t> kinds,
                                               const Participants& participants,
                                               std::uint32_t replicas, std::size_t most,
                                               FoldedLinks links = FoldedLinks::shared);

// Folds additional traffic on a network that has already been folded as `base`: links that `base`
// puts into one class are represented by the same link here.
Folded fold_beside(const Folded& base, const cluster::Cluster& cluster,
                   const RankPlacement& placement, std::span<const std::vector<Phase>> plans,
                   std::span<const std::uint64_t> kinds);

}  // namespace pipewright::execution
