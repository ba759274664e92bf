#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/workload/dispatch.hpp"

// The algorithms behind plan(), for collectives of one byte. All take two members or more.
namespace pipewright::execution {

using Nodes = std::vector<std::vector<std::uint32_t>>;  // a group's ranks, by node

// How many members each node has, if all have equally many; else 0.
std::size_t members_of_each(const Nodes& nodes);
std::size_t fewest_members(const Nodes& nodes);

// Rings that run at once, and the part of the bytes that each takes.
struct RingChannel {
  std::vector<std::uint32_t> ranks;
  double share = 1;
};
// As many rings over members of one node as the links between them carry, each the fastest that the
// ones before have left room for, as NCCL searches for them (src/graph/search.cc). One, in the
// order given, behind a switch.
std::vector<RingChannel> channels_in_node(const std::vector<std::uint32_t>& ranks,
                                          const RankPlacement& placement);
// For each member a way through its node that begins with it. Behind a switch each goes round in
// order. Between links from GPU to GPU that are all alike they go to and fro, 0, 1, n-1, 2, n-2,
// ... and the same from each member on: with an even number of members no two ways share a link
// (the Hamiltonian paths of a sequenceable group, B. Gordon 1961).
std::vector<std::vector<std::uint32_t>> ways_through(const std::vector<std::uint32_t>& node,
                                                     const RankPlacement& placement);
// Over nodes with k members each, or more, there are k, which leave a node by different GPUs.
std::vector<RingChannel> channels_over(const Nodes& nodes, const RankPlacement& placement);

// Each rank passes on `volume` bytes in `steps` steps, each of which takes the mean latency of the
// rings' hops.
PhaseCost ring(const std::vector<RingChannel>& channels, double volume, double steps,
               const RankPlacement& placement);

// From a rank along the channels to all others, or from these to it, as where they add up: every
// one but the last passes on all bytes.
enum class RootAt : std::uint8_t { start, end };
PhaseCost chain(std::vector<RingChannel> channels, std::uint32_t root, RootAt at,
                const RankPlacement& placement);

// all_reduce. Between nodes a hop takes twice the latency of a ring's, by LL and LL128: nothing
// else goes on meanwhile (NCCL's hwLatencies of trees and rings over a network).
PhaseCost tree(const Nodes& nodes, const RankPlacement& placement);

// Two binary trees over `roots`, each for half of the bytes, up and down (Sanders, Speck and Traeff
// 2009): whoever is an inner node in one is a leaf in the other.
std::vector<Flow> double_tree(const std::vector<std::uint32_t>& roots, double bytes);
// Seconds of the longest way from a GPU through the chain of its node, up one of the trees, and
// back down.
ByProtocol up_and_down(const Nodes& nodes, const RankPlacement& placement);

// all_reduce by switches inside the nodes, which read each byte of all GPUs and write the sum to
// all, and trees over the nodes (NVLink SHARP; NCCL's NVLS and NVLSTree).
bool has_nvls(const Nodes& nodes, const RankPlacement& placement);
PhaseCost nvls(const Nodes& nodes, const RankPlacement& placement);
// all_reduce by rings inside the nodes and switches between them, which every NIC sends its part
// to and gets the sum from (SHARP; NCCL's CollNet).
bool has_sharp(const Nodes& nodes, const RankPlacement& placement);
PhaseCost sharp(const Nodes& nodes, const RankPlacement& placement);

// What runs at once in sets of ranks that have no rank in common: rings inside each node, a ring
// over each of `sets`, and flows of `bytes` between all pairs of each, which take the latency of
// the longest way.
PhaseCost rings_inside(const Nodes& nodes, double volume, double steps,
                       const RankPlacement& placement);
PhaseCost rings_over(const Nodes& sets, double volume, double steps,
                     const RankPlacement& placement);
PhaseCost pairs(const Nodes& sets, double bytes, const RankPlacement& placement);
// Which of a node's members have what they send to others' members carried by a peer of their own
// node first: the one in the receiver's place, where the links inside nodes are as fast as the
// network and the peer is fewer links away from the receiver, as on the same rail (NCCL's PXN, its
// default: NCCL_PXN_DISABLE, NCCL_P2P_PXN_LEVEL). Nodes of unequal size have none.
class PeerWays {
 public:
  PeerWays(const Nodes& nodes, const RankPlacement& placement);

  bool any() const { return any_; }
  bool by_peer(std::size_t from, std::size_t to) const {
    return any_ && by_peer_[from * each_ + to];
  }
  const ByProtocol& latency() const { return latency_; }  // of the way to a peer

 private:
  std::size_t each_;
  std::vector<bool> by_peer_;
  ByProtocol latency_{};
  bool any_ = false;
};
// Messages between members, all at once, with what peers carry for each other. Both parts of such a
// way go on at once.
PhaseCost by_peers(const std::vector<Flow>& messages, const Nodes& nodes, const PeerWays& ways,
                   const RankPlacement& placement);
// As pairs() of all members, likewise.
PhaseCost pairs_by_peers(const Nodes& nodes, const PeerWays& ways, double bytes,
                         const RankPlacement& placement);
// Seconds of the longest of the flows' ways.
ByProtocol longest_way(const std::vector<Flow>& flows, const RankPlacement& placement);
// Flows that all run at once, as those of pairs.
PhaseCost at_once(std::vector<Flow> flows, const RankPlacement& placement);

// Each rank's tokens, of which one byte stands for all: to the rank in its place on each node where
// a token has experts, once, and from there to the ranks that have them, all at once (DeepEP's and
// HybridEP's forwarding). Nodes that are not alike: directly from rank to rank. What a GPU sends
// within its node is no faster than the library's kernel.
PhaseCost dispatch_tokens(const Nodes& nodes, const workload::Dispatch& dispatch,
                          const RankPlacement& placement);

// Of nodes with equally many members: the first members of all nodes, the second ones, and so on.
Nodes across(const Nodes& nodes);

}  // namespace pipewright::execution
