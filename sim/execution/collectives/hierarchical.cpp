#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/cluster/platform/error.hpp"
#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {

namespace {

void join(PhaseCost& all, const PhaseCost& one) {
  all.flows.insert(all.flows.end(), one.flows.begin(), one.flows.end());
  for (std::size_t p = 0; p < all.latency.size(); ++p)
    all.latency[p] = std::max(all.latency[p], one.latency[p]);
  all.ends = std::max(all.ends, one.ends);
}

// What a GPU's messages take that go after its first, of which each keeps the next from going.
struct Gaps {
  double sum = 0;
  double longest = 0;

  void add(double gap) {
    sum += gap;
    longest = std::max(longest, gap);
  }
  double seconds() const { return sum - longest; }
};

void add_messages(double seconds, const RankPlacement& placement, ByProtocol& latency) {
  for (double& one : latency) one += placement.model().step + seconds;
}

// Seconds of the rank that has the most to send or to receive.
double most_messages(const std::vector<Flow>& messages, const RankPlacement& placement) {
  std::unordered_map<std::uint32_t, Gaps> sent;
  std::unordered_map<std::uint32_t, Gaps> received;
  double most = 0;
  for (const Flow& flow : messages) {
    const double gap = placement.route(flow.source, flow.destination).message;
    for (Gaps* const gaps : {&sent[flow.source], &received[flow.destination]}) {
      gaps->add(gap);
      most = std::max(most, gaps->seconds());
    }
  }
  return most;
}

// The way from a rank to another; nothing where none leads there.
std::optional<cluster::Route> way(std::uint32_t from, std::uint32_t to,
                                  const RankPlacement& placement) {
  try {
    return placement.route(from, to);
  } catch (const cluster::Error&) {
    return std::nullopt;
  }
}

}  // namespace

PhaseCost rings_inside(const Nodes& nodes, double volume, double steps,
                       const RankPlacement& placement) {
  PhaseCost all;
  for (const std::vector<std::uint32_t>& node : nodes)
    join(all, ring(channels_in_node(node, placement), volume, steps, placement));
  return all;
}

PhaseCost rings_over(const Nodes& sets, double volume, double steps,
                     const RankPlacement& placement) {
  PhaseCost all;
  for (const std::vector<std::uint32_t>& set : sets)
    join(all, ring({{set, 1}}, volume, steps, placement));
  return all;
}

ByProtocol longest_way(const std::vector<Flow>& flows, const RankPlacement& placement) {
  ByProtocol latency{};
  for (const Flow& flow : flows) {
    const cluster::Route route = placement.route(flow.source, flow.destination);
    for (std::size_t p = 0; p < latency.size(); ++p)
      latency[p] = std::max(latency[p], route.per_protocol[p].latency);
  }
  return latency;
}

PhaseCost at_once(std::vector<Flow> flows, const RankPlacement& placement) {
  PhaseCost cost{.flows = std::move(flows)};
  cost.latency = longest_way(cost.flows, placement);
  add_messages(most_messages(cost.flows, placement), placement, cost.latency);
  return cost;
}

PhaseCost pairs(const Nodes& sets, double bytes, const RankPlacement& placement) {
  std::vector<Flow> flows;
  for (const std::vector<std::uint32_t>& set : sets)
    for (std::size_t step = 1; step < set.size(); ++step)
      for (std::size_t i = 0; i < set.size(); ++i)
        flows.push_back({set[i], set[(i + step) % set.size()], bytes});
  return at_once(std::move(flows), placement);
}

// Nodes are taken to be as far from each other as the first from the second.
PeerWays::PeerWays(const Nodes& nodes, const RankPlacement& placement)
    : each_(nodes.size() > 1 ? members_of_each(nodes) : 0), by_peer_(each_ * each_) {
  for (std::size_t a = 0; a < each_; ++a)
    for (std::size_t b = 0; b < each_; ++b) {
      if (a == b) continue;
      const auto inside = way(nodes[0][a], nodes[0][b], placement);
      const auto outside = way(nodes[0][b], nodes[1][b], placement);
      if (!inside || !outside || inside->bandwidth < outside->bandwidth) continue;
      const auto direct = way(nodes[0][a], nodes[1][b], placement);
      if (direct && direct->path().size() <= outside->path().size()) continue;
      by_peer_[a * each_ + b] = true;
      for (std::size_t p = 0; p < latency_.size(); ++p)
        latency_[p] = std::max(latency_[p], inside->per_protocol[p].latency);
      any_ = true;
    }
}

PhaseCost by_peers(const std::vector<Flow>& messages, const Nodes& nodes, const PeerWays& ways,
                   const RankPlacement& placement) {
  if (!ways.any()) return at_once(messages, placement);
  struct Place {
    std::size_t node = 0;
    std::size_t index = 0;
  };
  std::unordered_map<std::uint32_t, Place> place_of;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (std::size_t i = 0; i < nodes[node].size(); ++i) place_of[nodes[node][i]] = {node, i};
  FlowSum flows;
  bool any = false;
  // A peer passes on as many messages as it would send itself; those count for who sent them.
  std::vector<Flow> last_hops;
  for (const auto& [source, destination, bytes] : messages) {
    const Place from = place_of.at(source);
    const Place to = place_of.at(destination);
    const bool by_peer = from.node != to.node && ways.by_peer(from.index, to.index);
    const std::uint32_t peer = by_peer ? nodes[from.node][to.index] : source;
    if (by_peer) flows.add(source, peer, bytes);
    flows.add(peer, destination, bytes);
    last_hops.push_back({peer, destination, bytes});
    any = any || by_peer;
  }
  PhaseCost cost{.flows = flows.take()};
  cost.latency = longest_way(cost.flows, placement);
  if (any)
    for (std::size_t p = 0; p < cost.latency.size(); ++p) cost.latency[p] += ways.latency()[p];
  add_messages(most_messages(last_hops, placement), placement, cost.latency);
  return cost;
}

// All alike, so that no list of all messages is needed, of which there are millions.
PhaseCost pairs_by_peers(const Nodes& nodes, const PeerWays& ways, double bytes,
                         const RankPlacement& placement) {
  FlowSum flows;
  Gaps gaps;  // of the first member, as of all
  for (const std::vector<std::uint32_t>& node : nodes)
    for (std::size_t a = 0; a < node.size(); ++a)
      for (const std::vector<std::uint32_t>& other : nodes)
        for (std::size_t b = 0; b < other.size(); ++b) {
          if (&node == &other && a == b) continue;
          const bool by_peer = &node != &other && ways.by_peer(a, b);
          if (by_peer) flows.add(node[a], node[b], bytes);
          const std::uint32_t last = by_peer ? node[b] : node[a];
          flows.add(last, other[b], bytes);
          if (&node == nodes.data() && a == 0) gaps.add(placement.route(last, other[b]).message);
        }
  PhaseCost cost{.flows = flows.take()};
  cost.latency = longest_way(cost.flows, placement);
  for (std::size_t p = 0; p < cost.latency.size(); ++p) cost.latency[p] += ways.latency()[p];
  add_messages(gaps.seconds(), placement, cost.latency);
  return cost;
}

Nodes across(const Nodes& nodes) {
  Nodes rails(nodes.front().size());
  for (const std::vector<std::uint32_t>& node : nodes)
    for (std::size_t i = 0; i < node.size(); ++i) rails[i].push_back(node[i]);
  return rails;
}

}  // namespace pipewright::execution
