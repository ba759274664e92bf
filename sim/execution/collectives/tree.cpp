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

// Path from the GPU farthest from a tree's root to the root.
template <class Parent>
TreePath path_to_root(const Nodes& nodes, Parent parent, const RankPlacement& placement) {
  const double step = placement.model().step;
  TreePath longest;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    TreePath path;
    const auto add = [&](std::uint32_t source, std::uint32_t destination) {
      const cluster::Route route = placement.route(source, destination);
      for (std::size_t p = 0; p < path.latency.size(); ++p)
        path.latency[p] += route.per_protocol[p].latency + step;
    };
    for (std::size_t i = 1; i < nodes[node].size(); ++i) add(nodes[node][i], nodes[node][i - 1]);
    std::size_t position = node;
    for (auto up = parent(position, nodes.size()); up; up = parent(position = *up, nodes.size())) {
      add(nodes[position].front(), nodes[*up].front());
      ++path.hops_between;
    }
    for (std::size_t p = 0; p < path.latency.size(); ++p)
      longest.latency[p] = std::max(longest.latency[p], path.latency[p]);
    longest.hops_between = std::max(longest.hops_between, path.hops_between);
  }
  return longest;
}

// Chain of a channel through a node, which begins with the GPU that exchanges data with other
// nodes.
using Chains = std::vector<std::vector<std::uint32_t>>;  // by channel

// Seconds per byte of a hop along the chains of a node, by all channels at once.
ByProtocol seconds_inside(const Chains& chains, std::size_t channels,
                          const RankPlacement& placement) {
  FlowSum flows;
  for (std::size_t channel = 0; channel < channels; ++channel)
    for (std::size_t i = 1; i < chains[channel].size(); ++i)
      flows.add(chains[channel][i], chains[channel][i - 1], 1 / static_cast<double>(channels));
  return transfer({.flows = flows.take()}, placement);
}

}  // namespace

TreePath up_and_down(const Nodes& nodes, const RankPlacement& placement) {
  const TreePath first = path_to_root(nodes, parent_in_first, placement);
  const TreePath second = path_to_root(nodes, parent_in_second, placement);
  TreePath round_trip{.hops_between = 2 * std::max(first.hops_between, second.hops_between)};
  for (std::size_t p = 0; p < round_trip.latency.size(); ++p)
    round_trip.latency[p] = 2 * std::max(first.latency[p], second.latency[p]);
  return round_trip;
}

ByProtocol seconds_between(const Nodes& nodes, std::size_t channels,
                           const RankPlacement& placement) {
  std::vector<Flow> flows;
  for (std::size_t channel = 0; channel < channels; ++channel)
    flows.push_back({nodes[0][channel], nodes[1][channel], 1 / static_cast<double>(channels)});
  return transfer({.flows = std::move(flows)}, placement);
}

Chunking chunking_of(Chunking::Kind kind, const Nodes& nodes, const RankPlacement& placement) {
  // NCCL's channels: 16 up to Hopper, 32 on Blackwell over several nodes, 24 inside a node
  // (NVLS_NCHANNELS_SM100 and NVLS_NCHANNELS_SM100_NVL).
  const bool is_blackwell = placement.model().nvlink_generation() >= 5;
  const double channels = !is_blackwell ? 16 : nodes.size() > 1 ? 32 : 24;
  const auto ranks_per_node = static_cast<double>(fewest_members(nodes));
  const double parts =
      kind == Chunking::Kind::nvls_tree ? std::min(ranks_per_node, max_nvls_parts) : 1;
  return {.kind = kind,
          .streams = channels * parts,
          .nodes = static_cast<double>(nodes.size()),
          .ranks_per_node = ranks_per_node,
          .nccl = placement.cluster().nccl().value_or(Chunking{}.nccl)};
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

namespace {

// Seconds per byte on the way up and down a tree. By LL and LL128 a GPU passes on data inside a
// node as it arrives, line by line, and only the network waits for whole chunks.
ByProtocol level_seconds(const Nodes& nodes, const std::vector<Chains>& chains,
                         std::size_t channels, std::size_t hops_between,
                         const RankPlacement& placement) {
  ByProtocol seconds{};
  if (nodes.size() > 1) {
    seconds = seconds_between(nodes, channels, placement);
    for (double& hop : seconds) hop *= static_cast<double>(hops_between);
  }
  const Chains& longest =
      *std::ranges::max_element(chains, {}, [](const Chains& node) { return node.front().size(); });
  if (longest.front().size() > 1)
    seconds[0] += 2 * static_cast<double>(longest.front().size() - 1) *
                  seconds_inside(longest, channels, placement)[0];
  return seconds;
}

}  // namespace

PhaseCost tree(const Nodes& nodes, const RankPlacement& placement) {
  const std::size_t channels = fewest_members(nodes);
  const double share = 1 / static_cast<double>(channels);
  std::vector<Chains> chains;  // by node
  for (const std::vector<std::uint32_t>& node : nodes)
    chains.push_back(paths_through(node, placement));
  FlowSum inside;
  std::vector<Flow> trees;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::vector<std::uint32_t> first;
    for (const Chains& node : chains) {
      const std::vector<std::uint32_t>& chain = node[channel];
      first.push_back(chain.front());
      for (std::size_t i = 1; i < chain.size(); ++i) {
        inside.add(chain[i], chain[i - 1], share);
        inside.add(chain[i - 1], chain[i], share);
      }
    }
    const std::vector<Flow> flows = double_tree(first, share);
    trees.insert(trees.end(), flows.begin(), flows.end());
  }
  const TreePath path = up_and_down(nodes, placement);
  PhaseCost cost{.flows = inside.take(), .latency = path.latency};
  if (has_message_costs(placement.model())) {
    cost.chunking = chunking_of(Chunking::Kind::tree, nodes, placement);
    cost.level_seconds = level_seconds(nodes, chains, channels, path.hops_between, placement);
  }
  cost.flows.insert(cost.flows.end(), trees.begin(), trees.end());
  return cost;
}

}  // namespace pipewright::execution
