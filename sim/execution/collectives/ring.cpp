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

// Adds the rounds of a ring between nodes. A rank begins the next round when it has its last chunk.
// By Simple, a rank passes on the first half of a chunk while the second one arrives, so that only
// the last step of a round is exposed. By LL and LL128 all steps are. NCCL makes two channels of
// each ring that it finds.
void add_rounds(PhaseCost& cost, const std::vector<RingChannel>& channels,
                const RankPlacement& placement) {
  const std::vector<std::uint32_t>& ranks = channels.front().ranks;
  cost.chunking = {.kind = Chunking::Kind::ring,
                   .streams = 2 * static_cast<double>(channels.size()),
                   .ring_ranks = static_cast<double>(ranks.size())};
  cost.round_latency = cost.latency;
  double longest_hop = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    longest_hop =
        std::max(longest_hop, placement.route(ranks[i], ranks[(i + 1) % ranks.size()]).latency);
  cost.round_latency.front() = longest_hop;
}

}  // namespace

bool are_on_several_nodes(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  return std::ranges::any_of(ranks, [&](std::uint32_t rank) {
    return placement.node(rank) != placement.node(ranks.front());
  });
}

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
  const bool is_between_nodes = are_on_several_nodes(channels.front().ranks, placement);
  if (!is_between_nodes) cost.ends = model.ring_ends / steps;
  const auto post = [&](std::size_t protocol) { return (protocol == 0 ? 3 : 1) * model.post; };
  double bytes = 0;
  for (const Flow& flow : cost.flows) {
    const cluster::Route route = placement.route(flow.source, flow.destination);
    for (std::size_t i = 0; i < cost.latency.size(); ++i)
      cost.latency[i] +=
          flow.bytes * std::max(route.per_protocol[i].latency, is_between_nodes ? post(i) : 0);
    bytes += flow.bytes;
  }
  // Mean latency of the hops, weighted by their bytes: a channel carries the same bytes on each
  // hop.
  for (double& latency : cost.latency) latency = (latency / bytes + model.step) * steps;
  if (is_between_nodes && has_message_costs(model)) add_rounds(cost, channels, placement);
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
