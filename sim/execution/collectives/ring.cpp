#include <algorithm>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

// The ring of one channel. It enters a node at its member `channel` and goes round; in every other
// node it goes the other way round, so that it comes in by the rail by which it left the last one
// (NCCL alternates its rings likewise, src/graph/connect.cc).
std::vector<std::uint32_t> ring_of(const Nodes& nodes, std::size_t channel) {
  std::vector<std::uint32_t> ring;
  bool reversed = false;
  for (const std::vector<std::uint32_t>& node : nodes) {
    const auto begin = static_cast<std::ptrdiff_t>(ring.size());
    for (std::size_t i = 0; i < node.size(); ++i) ring.push_back(node[(channel + i) % node.size()]);
    if (reversed) std::reverse(ring.begin() + begin, ring.end());
    reversed = !reversed;
  }
  return ring;
}

}  // namespace

std::size_t members_of_each(const Nodes& nodes) {
  const std::size_t first = nodes.front().size();
  const bool even = std::ranges::all_of(nodes, [&](const auto& n) { return n.size() == first; });
  return even ? first : 0;
}

std::vector<Channel> channels_over(const Nodes& nodes, const Places& places) {
  if (nodes.size() == 1) return channels_in_node(nodes.front(), places);
  const std::size_t count = std::max<std::size_t>(members_of_each(nodes), 1);
  std::vector<Channel> channels;
  for (std::size_t i = 0; i < count; ++i)
    channels.push_back({ring_of(nodes, i), 1.0 / static_cast<double>(count)});
  return channels;
}

Phase ring(const std::vector<Channel>& channels, double volume, double steps,
           const Places& places) {
  FlowSum flows;
  for (const auto& [ranks, share] : channels)
    for (std::size_t i = 0; i < ranks.size(); ++i)
      flows.add(ranks[i], ranks[(i + 1) % ranks.size()], volume * share);
  Phase phase{.flows = flows.take()};
  double bytes = 0;
  for (const Flow& flow : phase.flows) {
    phase.latency += flow.bytes * places.route(flow.source, flow.destination).latency;
    bytes += flow.bytes;
  }
  phase.latency *= steps / bytes;  // a channel has the same bytes on each of its hops
  return phase;
}

}  // namespace pipewright::execution
