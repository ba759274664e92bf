#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "sim/execution/collectives/algorithms.hpp"
#include "sim/execution/collectives/alone.hpp"

namespace pipewright::execution {
namespace {

// A binary tree over 0..n-1 whose inner nodes are the even numbers: the parent of xx..x01..0 is
// xx..x10..0 while there is one (NCCL's ncclGetBtree).
std::optional<std::size_t> parent_in_first(std::size_t node, std::size_t n) {
  if (node == 0) return std::nullopt;
  const std::size_t bit = node & (~node + 1);
  const std::size_t up = (node ^ bit) | (bit << 1U);
  return up < n ? up : node ^ bit;
}

// The second tree is the first one's mirror image, or shifted by one if n is odd, so that whoever
// is an inner node in one is a leaf in the other.
std::optional<std::size_t> parent_in_second(std::size_t node, std::size_t n) {
  if (n % 2 == 1) {
    const auto up = parent_in_first((node + n - 1) % n, n);
    return up ? std::optional((*up + 1) % n) : std::nullopt;
  }
  const auto up = parent_in_first(n - 1 - node, n);
  return up ? std::optional(n - 1 - *up) : std::nullopt;
}

// Seconds from the farthest GPU to the root of a tree.
template <class Parent>
double way_to_root(const Nodes& nodes, Parent parent, const Places& places) {
  double longest = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    double way = 0;
    for (std::size_t i = 1; i < nodes[node].size(); ++i)
      way += places.route(nodes[node][i], nodes[node][i - 1]).latency;
    std::size_t at = node;
    for (auto up = parent(at, nodes.size()); up; up = parent(at = *up, nodes.size()))
      way += places.route(nodes[at].front(), nodes[*up].front()).latency;
    longest = std::max(longest, way);
  }
  return longest;
}

}  // namespace

// src/graph/tuning.cc of NCCL 2.30: 0.92, and treeCorrectionFactor, which counts from 64 B on in
// powers of two. Here counts the better of its protocols LL128, of whose bytes 15 in 16 are
// payload, and Simple, and between the powers what lies between.
double tree_efficiency(double bytes) {
  constexpr std::array<double, 25> ll128{1,  1,  1,  1,  1,  .9, .8, .8, .8, .7, .6, .6, .6,
                                         .6, .6, .6, .8, .9, .9, .9, .9, 1,  1,  1,  1};
  constexpr std::array<double, 25> simple{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5,
                                          .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9, 1};
  const double power = std::clamp(std::log2(bytes / 64), 0.0, simple.size() - 1.0);
  const auto below = static_cast<std::size_t>(power);
  const auto above = std::min(below + 1, simple.size() - 1);
  const auto of = [&](std::size_t i) { return 0.92 * std::max(simple[i], ll128[i] * 15 / 16); };
  return std::lerp(of(below), of(above), power - std::floor(power));
}

Phase tree(const Nodes& nodes, double bytes, const Places& places) {
  const std::size_t channels = std::max<std::size_t>(members_of_each(nodes), 1);
  const double share = bytes / static_cast<double>(channels);
  FlowSum chains;
  // Edges of the two trees stay apart even between the same ranks: equal flows share a NIC as the
  // pieces of one pipeline would.
  std::vector<Flow> trees;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto member = [&](std::size_t node, std::size_t place) {
      return nodes[node][(channel + place) % nodes[node].size()];
    };
    // Sums go up to the root while results come down, piece by piece.
    for (std::size_t node = 0; node < nodes.size(); ++node) {
      for (std::size_t i = 1; i < nodes[node].size(); ++i) {
        chains.add(member(node, i), member(node, i - 1), share);
        chains.add(member(node, i - 1), member(node, i), share);
      }
      for (const auto& up :
           {parent_in_first(node, nodes.size()), parent_in_second(node, nodes.size())})
        if (up) {
          trees.push_back({member(node, 0), member(*up, 0), share / 2});
          trees.push_back({member(*up, 0), member(node, 0), share / 2});
        }
    }
  }
  Phase phase{.flows = chains.take(),
              .latency = 2 * std::max(way_to_root(nodes, parent_in_first, places),
                                      way_to_root(nodes, parent_in_second, places))};
  phase.flows.insert(phase.flows.end(), trees.begin(), trees.end());
  const double transfer = alone({{phase}}, places) - phase.latency;
  phase.latency += (1 / tree_efficiency(bytes) - 1) * transfer;
  return phase;
}

}  // namespace pipewright::execution
