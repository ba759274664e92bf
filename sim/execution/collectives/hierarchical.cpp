#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/cluster/platform/error.hpp"
#include "sim/execution/collectives/algorithms.hpp"
#include "sim/execution/collectives/many_routes.hpp"

namespace pipewright::execution {

namespace {

void merge_concurrent(PhaseCost& total, const PhaseCost& cost) {
  total.flows.insert(total.flows.end(), cost.flows.begin(), cost.flows.end());
  for (std::size_t p = 0; p < total.latency.size(); ++p)
    total.latency[p] = std::max(total.latency[p], cost.latency[p]);
  total.ends = std::max(total.ends, cost.ends);
  for (std::size_t p = 0; p < total.round_latency.size(); ++p)
    total.round_latency[p] = std::max(total.round_latency[p], cost.round_latency[p]);
  if (cost.chunking.kind != Chunking::Kind::whole) total.chunking = cost.chunking;
}

// Delays between consecutive messages of a GPU, in seconds. Every message but one delays the next
// by its gap; the longest gap is left out.
struct MessageGaps {
  double sum = 0;
  double longest = 0;

  void add(double gap) {
    sum += gap;
    longest = std::max(longest, gap);
  }
  double seconds() const { return sum - longest; }
};

void add_messages(double seconds, const RankPlacement& placement, ByProtocol& latency) {
  for (double& protocol_latency : latency) protocol_latency += placement.model().step + seconds;
}

// Largest total of message gaps, in seconds, over what any rank sends or receives.
double busiest_message_gaps(const std::vector<Flow>& messages, const RankPlacement& placement) {
  std::unordered_map<std::uint32_t, MessageGaps> sent;
  std::unordered_map<std::uint32_t, MessageGaps> received;
  double longest = 0;
  ManyRoutes routes(placement, messages.size());
  for (const Flow& flow : messages) {
    const double gap = routes.route(flow.source, flow.destination).message;
    for (MessageGaps* const gaps : {&sent[flow.source], &received[flow.destination]}) {
      gaps->add(gap);
      longest = std::max(longest, gaps->seconds());
    }
  }
  return longest;
}

// Route between two ranks; empty if there is none.
std::optional<cluster::Route> find_route(std::uint32_t from, std::uint32_t to,
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
  PhaseCost total;
  for (const std::vector<std::uint32_t>& node : nodes)
    merge_concurrent(total, ring(channels_in_node(node, placement), volume, steps, placement));
  return total;
}

PhaseCost rings_over(const Nodes& sets, double volume, double steps,
                     const RankPlacement& placement) {
  PhaseCost total;
  for (const std::vector<std::uint32_t>& set : sets)
    merge_concurrent(total, ring({{set, 1}}, volume, steps, placement));
  return total;
}

ByProtocol longest_latency(const std::vector<Flow>& flows, const RankPlacement& placement) {
  ByProtocol latency{};
  ManyRoutes routes(placement, flows.size());
  for (const Flow& flow : flows) {
    const cluster::Route& route = routes.route(flow.source, flow.destination);
    for (std::size_t p = 0; p < latency.size(); ++p)
      latency[p] = std::max(latency[p], route.per_protocol[p].latency);
  }
  return latency;
}

PhaseCost at_once(std::vector<Flow> flows, const RankPlacement& placement) {
  PhaseCost cost{.flows = std::move(flows), .is_direct = true};
  cost.latency = longest_latency(cost.flows, placement);
  add_messages(busiest_message_gaps(cost.flows, placement), placement, cost.latency);
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

// The routes between the first two nodes, as they were built, stand for those between any two
// nodes.
PeerForwarding::PeerForwarding(const Nodes& nodes, const RankPlacement& current)
    : members_per_node_(nodes.size() > 1 ? members_per_node(nodes) : 0),
      has_peer_(members_per_node_ * members_per_node_) {
  const RankPlacement placement = current.as_built();
  for (std::size_t a = 0; a < members_per_node_; ++a)
    for (std::size_t b = 0; b < members_per_node_; ++b) {
      if (a == b) continue;
      const auto inside = find_route(nodes[0][a], nodes[0][b], placement);
      const auto outside = find_route(nodes[0][b], nodes[1][b], placement);
      if (!inside || !outside || inside->bandwidth < outside->bandwidth) continue;
      const auto direct = find_route(nodes[0][a], nodes[1][b], placement);
      if (direct && direct->path().size() <= outside->path().size()) continue;
      has_peer_[a * members_per_node_ + b] = true;
      for (std::size_t p = 0; p < latency_.size(); ++p)
        latency_[p] = std::max(latency_[p], inside->per_protocol[p].latency);
      is_used_ = true;
    }
}

PhaseCost by_peers(const std::vector<Flow>& messages, const Nodes& nodes,
                   const PeerForwarding& forwarding, const RankPlacement& placement) {
  if (!forwarding.is_used()) return at_once(messages, placement);
  struct Position {
    std::size_t node = 0;
    std::size_t index = 0;
  };
  std::unordered_map<std::uint32_t, Position> position_of;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    for (std::size_t i = 0; i < nodes[node].size(); ++i) position_of[nodes[node][i]] = {node, i};
  FlowSum flows;
  bool has_forwarded = false;
  // A peer forwards as many messages as it would send itself, so gaps are those of the last hops.
  std::vector<Flow> last_hops;
  for (const auto& [source, destination, bytes] : messages) {
    const Position from = position_of.at(source);
    const Position to = position_of.at(destination);
    const bool is_forwarded = from.node != to.node && forwarding.has_peer(from.index, to.index);
    const std::uint32_t peer = is_forwarded ? nodes[from.node][to.index] : source;
    if (is_forwarded) flows.add(source, peer, bytes);
    flows.add(peer, destination, bytes);
    last_hops.push_back({peer, destination, bytes});
    has_forwarded = has_forwarded || is_forwarded;
  }
  PhaseCost cost{.flows = flows.take(), .is_direct = true};
  cost.latency = longest_latency(cost.flows, placement);
  if (has_forwarded)
    for (std::size_t p = 0; p < cost.latency.size(); ++p)
      cost.latency[p] += forwarding.latency()[p];
  add_messages(busiest_message_gaps(last_hops, placement), placement, cost.latency);
  return cost;
}

// Messages are all of the same size, which avoids a list of all messages: there may be millions.
PhaseCost pairs_by_peers(const Nodes& nodes, const PeerForwarding& forwarding, double bytes,
                         const RankPlacement& placement) {
  constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  const std::size_t members = nodes.front().size();
  std::vector<Flow> flows;
  // Positions in `flows`, by position of the sender in its node and by position of the receiver
  // among all members.
  std::vector<std::size_t> flow_of(members * members * nodes.size());
  MessageGaps gaps;  // of the first member, equal for all members
  for (const std::vector<std::uint32_t>& node : nodes) {
    std::ranges::fill(flow_of, none);
    const auto add = [&](std::size_t from, std::size_t to_node, std::size_t to) {
      std::size_t& flow = flow_of[(from * nodes.size() + to_node) * members + to];
      if (flow == none) {
        flow = flows.size();
        flows.push_back({node[from], nodes[to_node][to], 0});
      }
      flows[flow].bytes += bytes;
    };
    const auto own = static_cast<std::size_t>(&node - nodes.data());
    for (std::size_t a = 0; a < members; ++a)
      for (std::size_t peer_node = 0; peer_node < nodes.size(); ++peer_node)
        for (std::size_t b = 0; b < members; ++b) {
          if (peer_node == own && a == b) continue;
          const bool is_forwarded = peer_node != own && forwarding.has_peer(a, b);
          if (is_forwarded) add(a, own, b);
          const std::size_t sender = is_forwarded ? b : a;
          add(sender, peer_node, b);
          if (own == 0 && a == 0)
            gaps.add(placement.route(node[sender], nodes[peer_node][b]).message);
        }
  }
  PhaseCost cost{.flows = std::move(flows), .is_direct = true};
  cost.latency = longest_latency(cost.flows, placement);
  for (std::size_t p = 0; p < cost.latency.size(); ++p) cost.latency[p] += forwarding.latency()[p];
  add_messages(gaps.seconds(), placement, cost.latency);
  return cost;
}

Nodes rails_of(const Nodes& nodes) {
  Nodes rails(nodes.front().size());
  for (const std::vector<std::uint32_t>& node : nodes)
    for (std::size_t i = 0; i < node.size(); ++i) rails[i].push_back(node[i]);
  return rails;
}

}  // namespace pipewright::execution
