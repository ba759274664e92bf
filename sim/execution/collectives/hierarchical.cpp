#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {

namespace {

void join(Draft& all, const Draft& one) {
  all.flows.insert(all.flows.end(), one.flows.begin(), one.flows.end());
  for (std::size_t p = 0; p < all.latency.size(); ++p)
    all.latency[p] = std::max(all.latency[p], one.latency[p]);
  all.ends = std::max(all.ends, one.ends);
}

}  // namespace

Draft rings_inside(const Nodes& nodes, double volume, double steps, const Places& places) {
  Draft all;
  for (const std::vector<std::uint32_t>& node : nodes)
    join(all, ring(channels_in_node(node, places), volume, steps, places));
  return all;
}

Draft rings_over(const Nodes& sets, double volume, double steps, const Places& places) {
  Draft all;
  for (const std::vector<std::uint32_t>& set : sets)
    join(all, ring({{set, 1}}, volume, steps, places));
  return all;
}

Draft at_once(std::vector<Flow> flows, const Places& places) {
  Draft draft{.flows = std::move(flows)};
  std::unordered_map<std::uint32_t, double> messages;
  double most = 0;
  for (const Flow& flow : draft.flows) {
    const cluster::Route route = places.route(flow.source, flow.destination);
    for (std::size_t p = 0; p < draft.latency.size(); ++p)
      draft.latency[p] = std::max(draft.latency[p], route.by[p].latency);
    most = std::max(most, ++messages[flow.source]);
  }
  const cluster::MessageModel& model = places.model();
  for (double& latency : draft.latency) latency += model.step + (most - 1) * model.message;
  return draft;
}

Draft pairs(const Nodes& sets, double bytes, const Places& places) {
  std::vector<Flow> flows;
  for (const std::vector<std::uint32_t>& set : sets)
    for (std::size_t step = 1; step < set.size(); ++step)
      for (std::size_t i = 0; i < set.size(); ++i)
        flows.push_back({set[i], set[(i + step) % set.size()], bytes});
  return at_once(std::move(flows), places);
}

Nodes across(const Nodes& nodes) {
  Nodes rails(nodes.front().size());
  for (const std::vector<std::uint32_t>& node : nodes)
    for (std::size_t i = 0; i < node.size(); ++i) rails[i].push_back(node[i]);
  return rails;
}

}  // namespace pipewright::execution
