#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/algorithm_choice.hpp"

namespace pipewright::execution {

// How a collective of `bytes` (as workload::Call counts them) goes over its members. None for a
// group of one, or without bytes.
//
//   ring          every rank passes on what it has to the next. Over nodes with k members or more
//                 there are k rings, each of which leaves its nodes by another GPU, as NCCL's
//                 channels.
//   tree          all_reduce up and down two binary trees over the nodes, each for half of the
//                 bytes and with chains inside the nodes (Sanders, Speck and Traeff 2009; NCCL's
//                 trees).
//   hierarchical  rings in each node and rings across nodes, one of each GPU's place in its node.
//   direct        every rank sends to every other at once.
//   nvls, sharp   all_reduce by switches that add up, inside nodes and between them, where the
//                 platform file says that they can.
//
// An algorithm that does not know the collective gives way: tree, nvls and sharp to ring; ring and
// tree to direct for all_to_all; hierarchical to ring (all_to_all: direct) where nodes do not hold
// equally many members, several each, or all_to_all has unequal parts. ring_exchange is always one
// ring, in the order of the members; gather and scatter, which NCCL makes of grouped sends and
// receives of the root, go directly, as send_recv and pairwise; broadcast and reduce along the
// rings, from and to the root; dispatch by nodes.
//
// `automatic` stands for ring, tree, nvls or sharp for all_reduce, for direct for all_to_all, else
// for ring; and each goes by Simple, LL or LL128, of which the platform file says what they cost
// (sim/cluster/message_model.hpp). Of all that are possible that is taken which NCCL takes for the
// fastest on an idle network: by its own model, where the file says its version (nccl.hpp); else
// by what the file has it expect, or as it is. Flows have the bytes that go over the wire: by LL
// and LL128 more than payload.
std::vector<Phase> plan(const workload::Operation& kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const RankPlacement& placement);

// What plan() takes.
AlgorithmProtocol choose(const workload::Operation& kind, double bytes,
                         std::span<const std::uint32_t> members, Algorithm algorithm,
                         const RankPlacement& placement);

}  // namespace pipewright::execution
