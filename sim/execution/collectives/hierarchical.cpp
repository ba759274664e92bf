#include <algorithm>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {

namespace {

void join(Phase& all, const Phase& one) {
  all.flows.insert(all.flows.end(), one.flows.begin(), one.flows.end());
  all.latency = std::max(all.latency, one.latency);
}

}  // namespace

Phase rings_inside(const Nodes& nodes, double volume, double steps, const Places& places) {
  Phase all;
  for (const std::vector<std::uint32_t>& node : nodes)
    join(all, ring(channels_in_node(node, places), volume, steps, places));
  return all;
}

Phase rings_over(const Nodes& sets, double volume, double steps, const Places& places) {
  Phase all;
  for (const std::vector<std::uint32_t>& set : sets)
    join(all, ring({{set, 1}}, volume, steps, places));
  return all;
}

Phase pairs(const Nodes& sets, double bytes, const Places& places) {
  Phase all;
  for (const std::vector<std::uint32_t>& set : sets)
    for (std::size_t step = 1; step < set.size(); ++step)
      for (std::size_t i = 0; i < set.size(); ++i) {
        const Flow flow{set[i], set[(i + step) % set.size()], bytes};
        all.flows.push_back(flow);
        all.latency = std::max(all.latency, places.route(flow.source, flow.destination).latency);
      }
  return all;
}

Nodes across(const Nodes& nodes) {
  Nodes rails(nodes.front().size());
  for (const std::vector<std::uint32_t>& node : nodes)
    for (std::size_t i = 0; i < node.size(); ++i) rails[i].push_back(node[i]);
  return rails;
}

}  // namespace pipewright::execution
