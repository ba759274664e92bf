#include <algorithm>
#include <limits>
#include <optional>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using cluster::InSwitch;

// What the switches between two ranks do; none between nodes that are not all as large.
std::optional<InSwitch> switch_between(std::uint32_t a, std::uint32_t b,
                                       const RankPlacement& placement) {
  return placement.in_switch(placement.route(a, b));
}

// What the switches of all nodes can do, as well as the worst of them.
std::optional<InSwitch> switch_in(const Nodes& nodes, const RankPlacement& placement) {
  if (members_of_each(nodes) < 2) return std::nullopt;
  InSwitch worst{.latency = 0, .efficiency = std::numeric_limits<double>::infinity()};
  for (const std::vector<std::uint32_t>& node : nodes) {
    const auto found = switch_between(node[0], node[1], placement);
    if (!found) return std::nullopt;
    worst.latency = std::max(worst.latency, found->latency);
    worst.efficiency = std::min(worst.efficiency, found->efficiency);
  }
  return worst;
}

std::optional<InSwitch> switch_over(const Nodes& nodes, const RankPlacement& placement) {
  if (nodes.size() < 2 || members_of_each(nodes) == 0) return std::nullopt;
  return switch_between(nodes[0].front(), nodes[1].front(), placement);
}

void add(PhaseCost& cost, const PhaseCost& more) {
  cost.flows.insert(cost.flows.end(), more.flows.begin(), more.flows.end());
}

// Flows around a set, each of so many bytes: what each member sends to the switch and gets from it.
PhaseCost around(const Nodes& sets, double bytes, const RankPlacement& placement) {
  return rings_over(sets, bytes, 1, placement);
}

void set_latency(PhaseCost& cost, double seconds) { cost.latency.fill(seconds); }

}  // namespace

bool has_nvls(const Nodes& nodes, const RankPlacement& placement) {
  return switch_in(nodes, placement).has_value();
}

// Each GPU adds up its part of the buffer: the switch reads that part from all k GPUs and sends it
// the sum, which it sends to the switch again, and that to all. So each GPU's link carries 1 + 1/k
// of the bytes each way.
PhaseCost nvls(const Nodes& nodes, const RankPlacement& placement) {
  const InSwitch in_switch = *switch_in(nodes, placement);
  const auto each = static_cast<double>(members_of_each(nodes));
  PhaseCost cost = around(nodes, (1 + 1 / each) / in_switch.efficiency, placement);
  cost.is_raw = true;
  cost.ends = 0;
  double latency = in_switch.latency;
  if (nodes.size() > 1) {
    for (const std::vector<std::uint32_t>& rail : across(nodes))
      for (const Flow& flow : double_tree(rail, 1 / each)) cost.flows.push_back(flow);
    // NCCL has a hop of such a tree take half as long again as one of a ring (20.9 us for 14).
    Nodes firsts;
    for (const std::vector<std::uint32_t>& node : nodes) firsts.push_back({node.front()});
    latency += 1.5 * up_and_down(firsts, placement)[0];
  }
  set_latency(cost, latency);
  return cost;
}

bool has_sharp(const Nodes& nodes, const RankPlacement& placement) {
  return switch_over(nodes, placement).has_value();
}

PhaseCost sharp(const Nodes& nodes, const RankPlacement& placement) {
  const InSwitch in_switch = *switch_over(nodes, placement);
  const auto each = static_cast<double>(members_of_each(nodes));
  PhaseCost cost = around(across(nodes), 1 / each / in_switch.efficiency, placement);
  cost.is_raw = true;
  cost.ends = 0;
  double latency = in_switch.latency;
  if (each > 1) {
    const PhaseCost inside = rings_inside(nodes, 2 * (each - 1) / each, 2, placement);
    add(cost, inside);
    latency += inside.latency[0];
  }
  set_latency(cost, latency);
  return cost;
}

}  // namespace pipewright::execution
