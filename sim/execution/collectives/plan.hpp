#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/execution/collectives/algorithm_choice.hpp"

namespace pipewright::execution {

// Plans a collective of `bytes` (as workload::Call counts them) over its members. Empty for a group
// of one rank, or without bytes.
//
//   ring          every rank passes its data on to the next one. Over nodes with k members or more
//                 there are k rings, each of which leaves its nodes by another GPU, like NCCL's
//                 channels.
//   tree          all_reduce up and down two binary trees over the nodes, each for half of the
//                 bytes and with chains inside the nodes (Sanders, Speck and Traeff 2009; NCCL's
//                 trees).
//   hierarchical  rings in each node, and rings across nodes over GPUs in the same position.
//   direct        every rank sends to every other rank at once.
//   torus         rings of all dimensions in both directions at once, for a group that fills a
//                 torus, a sub-torus or a line; `automatic` considers it too.
//   nvls, sharp   all_reduce by switches inside nodes or between them, where the platform file says
//                 that the switches can reduce.
//
// An algorithm that does not support the collective is replaced: tree, nvls and sharp by ring; ring
// and tree by direct for all_to_all; hierarchical by ring (all_to_all: direct) where nodes do not
// hold the same number of members, several each, or all_to_all has unequal parts. Some collectives
// always run in one way. ring_exchange is one ring, in the order of the members. gather and
// scatter, which NCCL builds from grouped sends and receives of the root, go directly, as do
// send_recv and pairwise. broadcast and reduce go along the rings, from and to the root. dispatch
// goes by nodes.
//
// `automatic` stands for ring, tree, nvls or sharp for all_reduce, for direct for all_to_all, else
// for ring. Each runs by Simple, LL or LL128, whose costs the platform file states
// (sim/cluster/message_model.hpp). Among the possible combinations the plan takes the one that NCCL
// considers fastest on an idle network: by NCCL's own model, where the file names its version
// (nccl.hpp); else by the numbers that the file has NCCL expect, or by the actual ones. If NCCL
// picks another combination for more bytes, and it is faster for these bytes, the plan takes that
// one (picks.hpp). Flows count bytes on the wire, which LL and LL128 need more of than payload.
std::vector<Phase> plan(const workload::Operation& kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const RankPlacement& placement);

// Plans a collective of one group for any number of sizes: the costs of the algorithms do not
// depend on the size, and are computed once. The placement must outlive this object, and the
// numbers of its cluster must not change meanwhile.
class GroupPlanner {
 public:
  GroupPlanner(workload::Operation kind, std::span<const std::uint32_t> members,
               Algorithm algorithm, const RankPlacement& placement);
  GroupPlanner(GroupPlanner&&) noexcept = default;

  struct Choice {
    AlgorithmProtocol method;
    std::size_t index = 0;  // index of the algorithm in choices()
  };
  class Times;
  Choice choose(double bytes) const;
  // Empty for a group of one rank, or without bytes.
  std::vector<Phase> plan(double bytes) const;
  const std::vector<AlgorithmChoice>& choices() const { return choices_; }

 private:
  bool is_empty(double bytes) const { return choices_.empty() || bytes <= 0; }

  workload::Operation kind_;
  std::vector<std::uint32_t> members_;
  Algorithm algorithm_;
  const RankPlacement& placement_;
  std::vector<AlgorithmChoice> choices_;
  std::shared_ptr<Times> times_;  // times of choices()
};

// Algorithm and protocol by which plan() runs this collective.
AlgorithmProtocol choose(const workload::Operation& kind, double bytes,
                         std::span<const std::uint32_t> members, Algorithm algorithm,
                         const RankPlacement& placement);

}  // namespace pipewright::execution
