#include <algorithm>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

// Ring of one channel: its path through each node, reversed in every other node, so that it enters
// a node by the rail by which it left the previous one (NCCL alternates its rings likewise,
// src/graph/connect.cc).
std::vector<std::uint32_t> join_paths(const std::vector<Nodes>& node_paths, std::size_t channel) {
  std::vector<std::uint32_t> ring;
  bool reversed = false;
  for (const Nodes& paths : node_paths) {
    const std::vector<std::uint32_t>& path = paths[channel];
    if (reversed)
      ring.insert(ring.end(), path.rbegin(), path.rend());
    else
      ring.insert(ring.end(), path.begin(), path.end());
    reversed = !reversed;
  }
  return ring;
}

// True if the ranks are on several nodes. Then `ring_ends` does not apply, because GPUs copy from
// and into buffers much faster than a network transfers.
bool leaves_node(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  return std::ranges::any_of(ranks, [&](std::uint32_t rank) {
    return placement.node(rank) != placement.node(ranks.front());
  });
}

}  // namespace

std::size_t members_per_node(const Nodes& nodes) {
  const std::size_t first = nodes.front().size();
  const bool even = std::ranges::all_of(nodes, [&](const auto& n) { return n.size() == first; });
  return even ? first : 0;
}

std::size_t fewest_members(const Nodes& nodes) {
  return std::ranges::min_element(nodes, {}, &std::vector<std::uint32_t>::size)->size();
}

std::vector<RingChannel> channels_over(const Nodes& nodes, const RankPlacement& placement) {
  if (nodes.size() == 1) return channels_in_node(nodes.front(), placement);
  const std::size_t count = fewest_members(nodes);
  std::vector<Nodes> node_paths;
  node_paths.reserve(nodes.size());
  for (const std::vector<std::uint32_t>& node : nodes)
    node_paths.push_back(paths_through(node, placement));
  std::vector<RingChannel> channels;
  for (std::size_t i = 0; i < count; ++i)
    channels.push_back({join_paths(node_paths, i), 1.0 / static_cast<double>(count)});
  return channels;
}

PhaseCost ring(const std::vector<RingChannel>& channels, double volume, double steps,
               const RankPlacement& placement) {
  FlowSum flows;
  for (const auto& [ranks, share] : channels)
    for (std::size_t i = 0; i < ranks.size(); ++i)
      flows.add(ranks[i], ranks[(i + 1) % ranks.size()], volume * share);
  const cluster::MessageModel& model = placement.model();
  PhaseCost cost{.flows = flows.take()};
  if (!leaves_node(channels.front().ranks, placement)) cost.ends = model.ring_ends / steps;
  double bytes = 0;
  for (const Flow& flow : cost.flows) {
    const cluster::Route route = placement.route(flow.source, flow.destination);
    for (std::size_t i = 0; i < cost.latency.size(); ++i)
      cost.latency[i] += flow.bytes * route.per_protocol[i].latency;
    bytes += flow.bytes;
  }
  // Mean latency of the hops, weighted by their bytes: a channel carries the same bytes on each
  // hop.
  for (double& latency : cost.latency) latency = (latency / bytes + model.step) * steps;
  return cost;
}

PhaseCost chain(std::vector<RingChannel> channels, std::uint32_t root, RootAt root_at,
                const RankPlacement& placement) {
  FlowSum flows;
  PhaseCost cost;
  for (RingChannel& channel : channels) {
    const auto it = std::ranges::find(channel.ranks, root);
    std::ranges::rotate(channel.ranks, root_at == RootAt::start ? it : it + 1);
    ByProtocol latency{};
    for (std::size_t i = 0; i + 1 < channel.ranks.size(); ++i) {
      flows.add(channel.ranks[i], channel.ranks[i + 1], channel.share);
      const cluster::Route route = placement.route(channel.ranks[i], channel.ranks[i + 1]);
      for (std::size_t p = 0; p < latency.size(); ++p)
        latency[p] += route.per_protocol[p].latency + placement.model().step;
    }
    for (std::size_t p = 0; p < latency.size(); ++p)
      cost.latency[p] = std::max(cost.latency[p], latency[p]);
  }
  cost.flows = flows.take();
  return cost;
}

}  // namespace pipewright::execution
