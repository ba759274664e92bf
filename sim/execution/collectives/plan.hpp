#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/flow.hpp"
#include "sim/execution/collectives/places.hpp"
#include "sim/workload/conditions.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::execution {

using Algorithm = config::Algorithm;

// How a collective of `bytes` (as workload::Call counts them) goes over its members. None for a
// group of one, or without bytes.
//
//   ring          every rank passes on what it has to the next. Over nodes with k members each
//   there
//                 are k rings, each of which leaves its nodes by another GPU, as NCCL's channels.
//   tree          all_reduce up and down two binary trees over the nodes, each for half of the
//   bytes
//                 and with chains inside the nodes (Sanders, Speck and Traeff 2009; NCCL's trees).
//   hierarchical  rings in each node and rings across nodes, one of each GPU's place in its node.
//   direct        every rank sends to every other at once.
//
// An algorithm that does not know the collective gives way: tree to ring; ring and tree to direct
// for all_to_all; hierarchical to ring (all_to_all: direct) where nodes do not hold equally many
// members, several each. ring_exchange is always one ring, in the order of the members.
std::vector<Phase> plan(workload::Collective kind, double bytes,
                        std::span<const std::uint32_t> members, Algorithm algorithm,
                        const Places& places);

// The algorithm that plan() uses. `automatic` stands for the faster of ring and tree for
// all_reduce, as NCCL chooses by predicted times (src/graph/tuning.cc), direct for all_to_all, else
// ring.
Algorithm choose(workload::Collective kind, double bytes, std::span<const std::uint32_t> members,
                 Algorithm algorithm, const Places& places);

}  // namespace pipewright::execution
