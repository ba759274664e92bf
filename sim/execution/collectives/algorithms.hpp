#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/execution/collectives/flow.hpp"
#include "sim/execution/collectives/places.hpp"

// The algorithms behind plan(). All take two members or more and more than 0 bytes.
namespace pipewright::execution {

using Nodes = std::vector<std::vector<std::uint32_t>>;  // a group's ranks, by node

// How many members each node has, if all have equally many; else 0.
std::size_t members_of_each(const Nodes& nodes);

// Rings that run at once, and the part of the bytes that each takes.
struct Channel {
  std::vector<std::uint32_t> ranks;
  double share = 1;
};
// As many rings over members of one node as the links between them carry, each the fastest that the
// ones before have left room for, as NCCL searches for them (src/graph/search.cc). One, in the
// order given, behind a switch.
std::vector<Channel> channels_in_node(const std::vector<std::uint32_t>& ranks,
                                      const Places& places);
// Over nodes with k members each there are k, which leave a node by different GPUs; else one.
std::vector<Channel> channels_over(const Nodes& nodes, const Places& places);

// Each rank passes on `volume` bytes in `steps` steps, each of which takes the mean latency of the
// rings' hops.
Phase ring(const std::vector<Channel>& channels, double volume, double steps, const Places& places);

// all_reduce. Its flows go at the full rate; the latency has what they would take longer at the
// efficiency, that is the part of the bandwidth which trees of so many bytes reach.
double tree_efficiency(double bytes);
Phase tree(const Nodes& nodes, double bytes, const Places& places);

// What runs at once in sets of ranks that have no rank in common: rings inside each node, a ring
// over each of `sets`, and flows of `bytes` between all pairs of each, which take the latency of
// the longest way.
Phase rings_inside(const Nodes& nodes, double volume, double steps, const Places& places);
Phase rings_over(const Nodes& sets, double volume, double steps, const Places& places);
Phase pairs(const Nodes& sets, double bytes, const Places& places);

// Of nodes with equally many members: the first members of all nodes, the second ones, and so on.
Nodes across(const Nodes& nodes);

}  // namespace pipewright::execution
