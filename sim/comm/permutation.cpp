#include "sim/comm/permutation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace pipewright::comm {
namespace {

constexpr std::uint32_t most_shifts = 96;
constexpr std::uint32_t most_for_greed = 512;  // GPUs; it looks at all pairs

// Nobody sends to itself: who would, swaps with the one before.
Permutation without_fixed_points(Permutation receiver_of) {
  const std::size_t n = receiver_of.size();
  for (std::size_t i = 0; i < n; ++i)
    if (receiver_of[i] == i) std::swap(receiver_of[i], receiver_of[(i + n - 1) % n]);
  return receiver_of;
}

// By node and place in it; none if nodes differ in size.
std::optional<Permutation> next_rail_of_other_half(const Paths& paths) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes;
  for (std::uint32_t i = 0; i < paths.size(); ++i)
    nodes[paths.cluster().node_of(paths.hosts()[i])].push_back(i);
  std::vector<std::vector<std::uint32_t>> gpus;
  for (auto& [node, members] : nodes) gpus.push_back(std::move(members));
  const std::size_t each = gpus.front().size();
  if (std::ranges::any_of(gpus, [&](auto& members) { return members.size() != each; }) ||
      gpus.size() < 2)
    return std::nullopt;
  Permutation receiver_of(paths.size());
  for (std::size_t node = 0; node < gpus.size(); ++node)
    for (std::size_t seat = 0; seat < each; ++seat)
      receiver_of[gpus[node][seat]] =
          gpus[(node + gpus.size() / 2) % gpus.size()][(seat + 1) % each];
  return receiver_of;
}

// Each GPU in turn sends to the one, of those that nobody sends to yet, on whose way the fullest
// link would get the fullest.
Permutation greedy(const Paths& paths) {
  const std::uint32_t n = paths.size();
  std::vector<double> flows(paths.links().size());
  std::vector<bool> taken(n);
  Permutation receiver_of(n);
  FlowPath path;
  FlowPath best_path;
  for (std::uint32_t sender = 0; sender < n; ++sender) {
    double most = -1;
    std::uint32_t best = sender;
    for (std::uint32_t turn = 0; turn < n; ++turn) {
      const std::uint32_t receiver = (sender + n / 2 + turn) % n;
      if (taken[receiver] || receiver == sender) continue;
      paths.find(paths.route(sender, receiver), path);
      double fullest = 1 / path.cap;
      for (const std::uint32_t link : path.links)
        fullest = std::max(fullest, (flows[link] + 1) / paths.bandwidth()[link]);
      if (fullest <= most) continue;
      most = fullest;
      best = receiver;
      std::swap(path, best_path);
    }
    receiver_of[sender] = best;
    taken[best] = true;
    if (best != sender)
      for (const std::uint32_t link : best_path.links) ++flows[link];
  }
  return without_fixed_points(std::move(receiver_of));
}

}  // namespace

bool PermutationRates::Rates::below(const Rates& other) const {
  constexpr double clearly = 1 - 1e-9;
  if (total < other.total * clearly) return true;
  return total * clearly <= other.total && slowest < other.slowest * clearly;
}

std::span<const FairShare> PermutationRates::share(const Permutation& receiver_of) {
  flows_.clear();
  for (std::uint32_t sender = 0; sender < receiver_of.size(); ++sender)
    flows_.push_back(&paths_.path(sender, receiver_of[sender]));
  return sharing_.share(flows_);
}

PermutationRates::Rates PermutationRates::of(const Permutation& receiver_of) {
  Rates rates{.slowest = std::numeric_limits<double>::infinity()};
  for (const FairShare& one : share(receiver_of)) {
    rates.total += one.rate;
    rates.slowest = std::min(rates.slowest, one.rate);
  }
  return rates;
}

analysis::PermutationFigures PermutationRates::figures(const Permutation& receiver_of) {
  const std::span<const FairShare> shares = share(receiver_of);
  analysis::PermutationFigures found{.receiver_of = receiver_of};
  for (const FairShare& one : shares) found.total += one.rate;
  for (const FlowPath* flow : flows_) found.alone += paths_.alone(*flow);
  const auto slowest = std::ranges::min_element(shares, {}, &FairShare::rate);
  found.slowest = slowest->rate;
  found.slowest_sender = static_cast<std::uint32_t>(slowest - shares.begin());
  found.slowest_receiver = receiver_of[found.slowest_sender];
  if (const std::uint32_t link = slowest->held_up_by; link != FairShare::no_link) {
    found.link = cluster::Cluster::link_name(paths_.links()[link]);
    found.link_class = paths_.cluster().link_class(paths_.links()[link]);
    found.link_bandwidth = paths_.bandwidth()[link];
    found.link_flows = static_cast<std::uint32_t>(std::ranges::count_if(
        flows_, [&](auto* flow) { return std::ranges::count(flow->links, link) > 0; }));
  }
  return found;
}

Permutation shifted(std::uint32_t gpus, std::uint32_t by) {
  Permutation receiver_of(gpus);
  for (std::uint32_t i = 0; i < gpus; ++i) receiver_of[i] = (i + by) % gpus;
  return receiver_of;
}

std::vector<NamedPermutation> hard_permutations(Paths& paths) {
  const std::uint32_t n = paths.size();
  std::vector<NamedPermutation> found;
  const auto add_shift = [&](std::uint32_t by) {
    found.push_back({fmt::format("shift by {}", by), shifted(n, by)});
  };
  add_shift(n / 2);
  const std::uint32_t count = std::min(n - 1, most_shifts);
  for (std::uint32_t i = 0; i < count; ++i)
    if (const std::uint32_t by = 1 + i * (n - 1) / count; by != n / 2) add_shift(by);
  Permutation reversed(n);
  std::iota(reversed.rbegin(), reversed.rend(), 0U);
  found.push_back({"reversed order", without_fixed_points(std::move(reversed))});
  if (auto other = next_rail_of_other_half(paths))
    found.push_back({"next rail of the other half of the nodes", std::move(*other)});
  if (n <= most_for_greed) found.push_back({"one by one over the fullest link", greedy(paths)});
  return found;
}

}  // namespace pipewright::comm
