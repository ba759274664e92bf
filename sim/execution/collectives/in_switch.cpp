#include <algorithm>
#include <limits>
#include <optional>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

using cluster::InSwitch;

// Parameters of reduction by the switches on the route between two ranks. Empty if they cannot
// reduce.
std::optional<InSwitch> switch_between(std::uint32_t a, std::uint32_t b,
                                       const RankPlacement& placement) {
  return placement.in_switch(placement.route(a, b));
}

// Worst parameters of reduction by the switches inside the nodes. Empty if a node's switches cannot
// reduce, or nodes differ in size.
std::optional<InSwitch> switch_in(const Nodes& nodes, const RankPlacement& placement) {
  if (members_per_node(nodes) < 2) return std::nullopt;
  InSwitch worst{.latency = 0, .efficiency = std::numeric_limits<double>::infinity()};
  for (const std::vector<std::uint32_t>& node : nodes) {
    const auto in_switch = switch_between(node[0], node[1], placement);
    if (!in_switch) return std::nullopt;
    worst.latency = std::max(worst.latency, in_switch->latency);
    worst.gpu_latency = std::max(worst.gpu_latency, in_switch->gpu_latency);
    worst.efficiency = std::min(worst.efficiency, in_switch->efficiency);
  }
  return worst;
}

std::optional<InSwitch> switch_over(const Nodes& nodes, const RankPlacement& placement) {
  if (nodes.size() < 2 || members_per_node(nodes) == 0) return std::nullopt;
  return switch_between(nodes[0].front(), nodes[1].front(), placement);
}

void add_flows(PhaseCost& cost, const PhaseCost& concurrent) {
  cost.flows.insert(cost.flows.end(), concurrent.flows.begin(), concurrent.flows.end());
}

// Flows of `bytes` in a ring around each set. They stand for the bytes that each member sends to
// the switch and receives from it.
PhaseCost flows_through_switch(const Nodes& sets, double bytes, const RankPlacement& placement) {
  PhaseCost cost = rings_over(sets, bytes, 1, placement);
  cost.chunking = {};
  cost.round_latency = {};
  return cost;
}

void set_latency(PhaseCost& cost, double seconds) { cost.latency.fill(seconds); }

}  // namespace

bool has_nvls(const Nodes& nodes, const RankPlacement& placement) {
  return switch_in(nodes, placement).has_value();
}

// Each of the k GPUs of a node reduces its part of the buffer: the switch reads that part from all
// GPUs and sends the sum to the GPU, which sends it back to the switch, and the switch to all GPUs.
// So each GPU's link carries 1 + 1/k of the bytes in each direction.
PhaseCost nvls(const Nodes& nodes, const RankPlacement& placement) {
  const InSwitch in_switch = *switch_in(nodes, placement);
  const auto member_count = static_cast<double>(members_per_node(nodes));
  PhaseCost cost =
      flows_through_switch(nodes, (1 + 1 / member_count) / in_switch.efficiency, placement);
  cost.is_raw = true;
  cost.ends = 0;
  const double parts = std::min(member_count, max_nvls_parts);
  double latency = in_switch.latency + in_switch.gpu_latency * parts;
  if (nodes.size() > 1) {
    for (const std::vector<std::uint32_t>& rail : rails_of(nodes))
      for (const Flow& flow : double_tree(rail, 1 / member_count)) cost.flows.push_back(flow);
    Nodes firsts;
    for (const std::vector<std::uint32_t>& node : nodes) firsts.push_back({node.front()});
    const TreePath path = up_and_down(firsts, placement);
    latency += path.latency[0];
    cost.chunking = chunking_of(Chunking::Kind::nvls_tree, nodes, placement);
    cost.level_seconds[0] = transfer(cost, placement)[0] +
                            static_cast<double>(path.hops_between) *
                                seconds_between(nodes, members_per_node(nodes), placement)[0];
  }
  set_latency(cost, latency);
  return cost;
}

bool has_sharp(const Nodes& nodes, const RankPlacement& placement) {
  return switch_over(nodes, placement).has_value();
}

PhaseCost sharp(const Nodes& nodes, const RankPlacement& placement) {
  const InSwitch in_switch = *switch_over(nodes, placement);
  const auto member_count = static_cast<double>(members_per_node(nodes));
  PhaseCost cost =
      flows_through_switch(rails_of(nodes), 1 / member_count / in_switch.efficiency, placement);
  cost.is_raw = true;
  cost.ends = 0;
  double latency = in_switch.latency;
  if (member_count > 1) {
    const PhaseCost inside =
        rings_inside(nodes, 2 * (member_count - 1) / member_count, 2, placement);
    add_flows(cost, inside);
    latency += inside.latency[0];
  }
  set_latency(cost, latency);
  return cost;
}

}  // namespace pipewright::execution
