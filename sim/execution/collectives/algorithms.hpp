#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/execution/collectives/phase.hpp"
#include "sim/execution/collectives/rank_placement.hpp"
#include "sim/workload/dispatch.hpp"
#include "sim/workload/traffic.hpp"

// The algorithms from which plan() builds a collective. Each returns the cost of a collective of
// one byte, and needs two members or more.
namespace pipewright::execution {

using Nodes = std::vector<std::vector<std::uint32_t>>;  // ranks of a group, by node

// Number of members of a group in each node if all nodes have the same number, else 0.
std::size_t members_per_node(const Nodes& nodes);
// Smallest number of members of a group in any of its nodes.
std::size_t fewest_members(const Nodes& nodes);

// One of several rings that run at once, and its share of the bytes.
struct RingChannel {
  std::vector<std::uint32_t> ranks;
  double share = 1;
};
// Rings over the members of one node: as many as the links between them carry, each the fastest
// that the previous rings leave room for, as NCCL searches for them (src/graph/search.cc). Behind a
// switch there is one ring, in the given order.
std::vector<RingChannel> channels_in_node(const std::vector<std::uint32_t>& ranks,
                                          const RankPlacement& placement);
// Paths through a node, one that begins with each member. Behind a switch the paths go round
// in order. Over identical links from GPU to GPU they zigzag, 0, 1, n-1, 2, n-2, ..., shifted by
// the first member: with an even number of members no two paths share a link (the Hamiltonian paths
// of a sequenceable group, B. Gordon 1961).
std::vector<std::vector<std::uint32_t>> paths_through(const std::vector<std::uint32_t>& node,
                                                      const RankPlacement& placement);
// Rings over several nodes: as many as the smallest node has members. Each ring leaves a node by a
// different GPU.
std::vector<RingChannel> channels_over(const Nodes& nodes, const RankPlacement& placement);

// Returns whether ranks are on several nodes. Then `ring_ends` does not apply, because GPUs copy
// from and into buffers much faster than a network transfers.
bool are_on_several_nodes(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement);

// Cost of rings in which each rank passes on `volume` bytes in `steps` steps. A step takes the mean
// latency of the rings' hops.
PhaseCost ring(const std::vector<RingChannel>& channels, double volume, double steps,
               const RankPlacement& placement);

// Pipelined broadcast from the root along the channels, or reduction to it: every rank but the last
// one passes on all bytes.
enum class RootAt : std::uint8_t { start, end };
PhaseCost chain(std::vector<RingChannel> channels, std::uint32_t root, RootAt root_at,
                const RankPlacement& placement);

// all_reduce over two binary trees.
PhaseCost tree(const Nodes& nodes, const RankPlacement& placement);

// Flows of two binary trees over `roots`, each for half of the bytes, up and down (Sanders, Speck
// and Traeff 2009): an inner node of one tree is a leaf of the other.
std::vector<Flow> double_tree(const std::vector<std::uint32_t>& roots, double bytes);
// Longest path from a GPU through the chain of its node, up one of the trees, and back down.
struct TreePath {
  ByProtocol latency{};          // seconds
  std::size_t hops_between = 0;  // hops from node to node
};
TreePath up_and_down(const Nodes& nodes, const RankPlacement& placement);
// Seconds per byte of a hop between two nodes if each channel leaves its node by another GPU.
ByProtocol seconds_between(const Nodes& nodes, std::size_t channels,
                           const RankPlacement& placement);
// Returns the chunks into which NCCL cuts a collective over these nodes.
Chunking chunking_of(Chunking::Kind kind, const Nodes& nodes, const RankPlacement& placement);

// all_reduce by switches inside the nodes, which read each byte from all GPUs and write the sum to
// all of them, and by trees over the nodes (NVLink SHARP; NCCL's NVLS and NVLSTree).
bool has_nvls(const Nodes& nodes, const RankPlacement& placement);
PhaseCost nvls(const Nodes& nodes, const RankPlacement& placement);
// all_reduce by rings inside the nodes and by switches between them, to which each NIC sends its
// part and which return the sum (SHARP; NCCL's CollNet).
bool has_sharp(const Nodes& nodes, const RankPlacement& placement);
PhaseCost sharp(const Nodes& nodes, const RankPlacement& placement);

// Costs of collectives that run at once in disjoint sets of ranks: rings inside each node, a ring
// over each of `sets`, or flows of `bytes` between all pairs of each set, with the latency of the
// longest route.
PhaseCost rings_inside(const Nodes& nodes, double volume, double steps,
                       const RankPlacement& placement);
PhaseCost rings_over(const Nodes& sets, double volume, double steps,
                     const RankPlacement& placement);
PhaseCost pairs(const Nodes& sets, double bytes, const RankPlacement& placement);
// Decides which messages to other nodes are forwarded by a peer in the sender's node: the peer in
// the receiver's position, if links inside nodes are as fast as the network and the peer is fewer
// links away from the receiver, as on the same rail (NCCL's PXN, its default: NCCL_PXN_DISABLE,
// NCCL_P2P_PXN_LEVEL). Nodes of unequal size do not forward.
class PeerForwarding {
 public:
  PeerForwarding(const Nodes& nodes, const RankPlacement& placement);

  bool is_used() const { return is_used_; }
  bool has_peer(std::size_t from, std::size_t to) const {
    return is_used_ && has_peer_[from * members_per_node_ + to];
  }
  const ByProtocol& latency() const { return latency_; }  // latency of the route to a peer

 private:
  std::size_t members_per_node_;
  std::vector<bool> has_peer_;
  ByProtocol latency_{};
  bool is_used_ = false;
};
// Cost of messages between members that are all sent at once, some of them forwarded by peers. Both
// hops of a forwarded message overlap.
PhaseCost by_peers(const std::vector<Flow>& messages, const Nodes& nodes,
                   const PeerForwarding& forwarding, const RankPlacement& placement);
// Cost of messages as in by_peers(), forwarded by peers or not: one of `bytes` from each member to
// every other member, all at once.
PhaseCost pairs_by_peers(const Nodes& nodes, const PeerForwarding& forwarding, double bytes,
                         const RankPlacement& placement);
// Latency of the longest route among those of the flows, in seconds.
ByProtocol longest_latency(const std::vector<Flow>& flows, const RankPlacement& placement);
// Cost of flows that all run at once; the latency includes the message gaps of the busiest rank.
PhaseCost at_once(std::vector<Flow> flows, const RankPlacement& placement);

// Cost of dispatching tokens to experts; the tokens of a rank have one byte in total. A token goes
// once to each node that has experts for it, to the rank in the sender's position, and from there
// to the ranks with the experts, all at once (forwarding of DeepEP and HybridEP). Between nodes of
// different size tokens go directly from rank to rank. Inside a node a GPU sends no faster than the
// library's kernel.
PhaseCost dispatch_tokens(const Nodes& nodes, const workload::Dispatch& dispatch,
                          const RankPlacement& placement);

// Group of ranks that fills a torus, a sub-torus, or a line of a torus: its corners' positions in
// each dimension are independent of those in the other dimensions, and each corner has the same
// number of ranks. Empty for any other group.
struct TorusRanks {
  struct Dimension {
    std::size_t size = 0;  // number of positions, at least 2
    // Cables by which a corner sends to its neighbours in the group: 2 around a ring, 1 along a
    // line, whose ends are joined by the cables between them.
    double cables = 1;
  };
  std::vector<Dimension> dimensions;
  Nodes corners;  // ranks at each corner; the first dimension varies fastest
};
std::optional<TorusRanks> find_torus(std::span<const std::uint32_t> members,
                                     const RankPlacement& placement);
// all_reduce, all_gather or reduce_scatter along the rings of all dimensions in both directions at
// once. The bytes are divided into two parts for each dimension, one for each direction. A part is
// reduce-scattered in one dimension after the other, beginning with its own, and gathered back in
// the reverse order, so that all cables of a corner are in use (bucket algorithm: Chan et al. 2007;
// Sack and Gropp 2012). Several ranks of a corner first reduce, and finally gather, among
// themselves.
std::vector<PhaseCost> torus_phases(const TorusRanks& torus, workload::Collective kind,
                                    const RankPlacement& placement);

// Groups the ranks by their position in the nodes: the first members of all nodes, the second ones,
// and so on. Requires nodes of equal size.
Nodes rails_of(const Nodes& nodes);

}  // namespace pipewright::execution
