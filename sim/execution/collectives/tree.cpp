#include <algorithm>
#include <optional>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

// Parent in a binary tree over 0..n-1 whose inner nodes are the even numbers: the parent of
// xx..x01..0 is xx..x10..0 if there is such a node (NCCL's ncclGetBtree).
std::optional<std::size_t> parent_in_first(std::size_t node, std::size_t n) {
  if (node == 0) return std::nullopt;
  const std::size_t bit = node & (~node + 1);
  const std::size_t up = (node ^ bit) | (bit << 1U);
  return up < n ? up : node ^ bit;
}

// Parent in the second tree: the mirror image of the first tree, or the first tree shifted by one
// if n is odd, so that an inner node of one tree is a leaf of the other.
std::optional<std::size_t> parent_in_second(std::size_t node, std::size_t n) {
  if (n % 2 == 1) {
    const auto up = parent_in_first((node + n - 1) % n, n);
    return up ? std::optional((*up + 1) % n) : std::nullopt;
  }
  const auto up = parent_in_first(n - 1 - node, n);
  return up ? std::optional(n - 1 - *up) : std::nullopt;
}

// Latency, in seconds, from the GPU farthest from a tree's root to the root.
template <class Parent>
ByProtocol latency_to_root(const Nodes& nodes, Parent parent, const RankPlacement& placement) {
  const double step = placement.model().step;
  ByProtocol longest{};
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    ByProtocol latency{};
    const auto add = [&](std::uint32_t source, std::uint32_t destination,
                         double low_latency_factor) {
      const cluster::Route route = placement.route(source, destination);
      for (std::size_t p = 0; p < latency.size(); ++p)
        latency[p] += route.per_protocol[p].latency * (p == 0 ? 1 : low_latency_factor) + step;
    };
    for (std::size_t i = 1; i < nodes[node].size(); ++i) add(nodes[node][i], nodes[node][i - 1], 1);
    std::size_t position = node;
    for (auto up = parent(position, nodes.size()); up; up = parent(position = *up, nodes.size()))
      add(nodes[position].front(), nodes[*up].front(), 2);
    for (std::size_t p = 0; p < latency.size(); ++p) longest[p] = std::max(longest[p], latency[p]);
  }
  return longest;
}

}  // namespace

// Twice the latency from the farthest GPU to the root, for the slower of the two trees.
ByProtocol up_and_down(const Nodes& nodes, const RankPlacement& placement) {
  const ByProtocol first = latency_to_root(nodes, parent_in_first, placement);
  const ByProtocol second = latency_to_root(nodes, parent_in_second, placement);
  ByProtocol round_trip{};
  for (std::size_t p = 0; p < round_trip.size(); ++p)
    round_trip[p] = 2 * std::max(first[p], second[p]);
  return round_trip;
}

std::vector<Flow> double_tree(const std::vector<std::uint32_t>& roots, double bytes) {
  // Edges of the two trees stay separate even between the same ranks: equal flows share a NIC in
  // the same way as pieces of one pipeline. Sums go up to the root while results come down, piece
  // by piece.
  std::vector<Flow> flows;
  for (std::size_t i = 0; i < roots.size(); ++i)
    for (const auto& up : {parent_in_first(i, roots.size()), parent_in_second(i, roots.size())})
      if (up) {
        flows.push_back({roots[i], roots[*up], bytes / 2});
        flows.push_back({roots[*up], roots[i], bytes / 2});
      }
  return flows;
}

PhaseCost tree(const Nodes& nodes, const RankPlacement& placement) {
  const std::size_t channels = fewest_members(nodes);
  const double share = 1 / static_cast<double>(channels);
  FlowSum chains;
  std::vector<Flow> trees;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::vector<std::uint32_t> first;
    for (const std::vector<std::uint32_t>& node : nodes) {
      const auto member = [&](std::size_t position) {
        return node[(channel + position) % node.size()];
      };
      first.push_back(member(0));
      for (std::size_t i = 1; i < node.size(); ++i) {
        chains.add(member(i), member(i - 1), share);
        chains.add(member(i - 1), member(i), share);
      }
    }
    const std::vector<Flow> flows = double_tree(first, share);
    trees.insert(trees.end(), flows.begin(), flows.end());
  }
  PhaseCost cost{.flows = chains.take(),
                 .latency = up_and_down(nodes, placement),
                 .is_tree = has_message_costs(placement.model())};
  cost.flows.insert(cost.flows.end(), trees.begin(), trees.end());
  return cost;
}

}  // namespace pipewright::execution
