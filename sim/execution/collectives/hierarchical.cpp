#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {

namespace {

void join(PhaseCost& all, const PhaseCost& one) {
  all.flows.insert(all.flows.end(), one.flows.begin(), one.flows.end());
  for (std::size_t p = 0; p < all.latency.size(); ++p)
    all.latency[p] = std::max(all.latency[p], one.latency[p]);
  all.ends = std::max(all.ends, one.ends);
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
      latency[p] = std::max(latency[p], route.by[p].latency);
  }
  return latency;
}

PhaseCost at_once(std::vector<Flow> flows, const RankPlacement& placement) {
  PhaseCost cost{.flows = std::move(flows)};
  cost.latency = longest_way(cost.flows, placement);
  std::unordered_map<std::uint32_t, double> messages;
  double most = 0;
  for (const Flow& flow : cost.flows) most = std::max(most, ++messages[flow.source]);
  const cluster::MessageModel& model = placement.model();
  for (double& latency : cost.latency) latency += model.step + (most - 1) * model.message;
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

Nodes across(const Nodes& nodes) {
  Nodes rails(nodes.front().size());
  for (const std::vector<std::uint32_t>& node : nodes)
    for (std::size_t i = 0; i < node.size(); ++i) rails[i].push_back(node[i]);
  return rails;
}

}  // namespace pipewright::execution
