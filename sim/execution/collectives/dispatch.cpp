#include <algorithm>
#include <numeric>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

// Rate at which the library's kernel writes over links inside a node if tokens also come from other
// nodes, as a share of the rate within a single node: a part of the SMs sends and receives over the
// network. DeepEP with 4, 8 and 12 SMs on four nodes of H100 forwards 10 GB/s per SM on the way to
// experts and 8 on the way back, and with 16 SMs the NICs are the limit (AIConfigurator's tables).
constexpr double forwarding_share = 0.6;

double rate_of(const cluster::Route& route) {
  return route.links.empty() ? 0 : route.bandwidth * route.per_protocol.front().efficiency;
}

}  // namespace

PhaseCost dispatch_tokens(const Nodes& nodes, const workload::Dispatch& dispatch,
                          const RankPlacement& placement) {
  const std::size_t member_count = members_per_node(nodes);
  const std::size_t ranks = std::accumulate(
      nodes.begin(), nodes.end(), std::size_t{0},
      [](std::size_t sum, const std::vector<std::uint32_t>& node) { return sum + node.size(); });
  const auto part = [&](std::size_t parts) {
    return workload::parts_visited(dispatch, static_cast<std::uint32_t>(parts)) /
           static_cast<double>(parts);
  };
  const double to_rank = part(ranks);
  const double to_node = part(nodes.size());
  const bool forwards = member_count > 0;
  // GPUs that forward tokens pass on those of one rank of each node to every peer.
  const double bytes_per_peer = (forwards ? static_cast<double>(nodes.size()) : 1) * to_rank;
  const double inside_rate = dispatch.inside_rate * (nodes.size() > 1 ? forwarding_share : 1);
  std::vector<Flow> flows;
  for (std::size_t a = 0; a < nodes.size(); ++a)
    for (std::size_t i = 0; i < nodes[a].size(); ++i) {
      for (std::size_t k = 1; k < nodes[a].size(); ++k) {
        const std::uint32_t peer = nodes[a][(i + k) % nodes[a].size()];
        double bytes = bytes_per_peer;
        if (inside_rate > 0)
          bytes *= std::max(1.0, rate_of(placement.route(nodes[a][i], peer)) / inside_rate);
        flows.push_back({nodes[a][i], peer, bytes});
      }
      for (std::size_t step = 1; step < nodes.size(); ++step) {
        const std::vector<std::uint32_t>& node = nodes[(a + step) % nodes.size()];
        if (forwards)
          flows.push_back({nodes[a][i], node[i], to_node});
        else
          for (const std::uint32_t destination : node)
            flows.push_back({nodes[a][i], destination, to_rank});
      }
    }
  // The libraries' own messages are not those of NCCL, so that direct_efficiency does not count.
  PhaseCost cost{.flows = std::move(flows)};
  cost.latency = longest_latency(cost.flows, placement);
  for (double& latency : cost.latency)
    latency += nodes.size() > 1 ? dispatch.outside_latency : dispatch.inside_latency;
  return cost;
}

}  // namespace pipewright::execution
