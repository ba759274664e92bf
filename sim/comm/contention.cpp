#include "sim/comm/contention.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/checks/bisection.hpp"

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

using analysis::Contention;
using Rates = PermutationRates::Rates;

double narrowest(const Pairs& pairs) {
  double least = std::numeric_limits<double>::infinity();
  for (const analysis::PairClass& one : pairs.matrix.classes)
    least = std::min(least, one.bandwidth);
  return least;
}

double all_pairs(const Paths& paths, const Pairs& pairs) {
  if (pairs.use.empty()) return 0;
  double rate = narrowest(pairs);  // of a pair
  for (std::size_t link = 0; link < pairs.use.size(); ++link)
    if (const std::uint64_t flows = pairs.use[link].across; flows > 0)
      rate = std::min(rate, paths.bandwidth()[link] / static_cast<double>(flows));
  const std::size_t half = paths.size() / 2;
  return rate * static_cast<double>(half * half);
}

// On no link can more flows of a permutation meet than there are senders for it, or receivers; and
// a flow gets at least an equal part of its fullest link.
double slowest_bound(const Paths& paths, const Pairs& pairs) {
  if (pairs.use.empty()) return 0;
  double rate = narrowest(pairs);
  for (std::size_t link = 0; link < pairs.use.size(); ++link) {
    const LinkUse& use = pairs.use[link];
    const auto crossings =
        static_cast<double>(std::min(use.senders, use.receivers)) * use.crossings;
    if (crossings > 0) rate = std::min(rate, paths.bandwidth()[link] / crossings);
  }
  return rate;
}

// Of the numbers below `end`; the same on every machine, unlike the standard's distributions.
std::uint32_t below(std::mt19937_64& random, std::uint32_t end) {
  return static_cast<std::uint32_t>(((random() >> 32U) * end) >> 32U);
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
  if (const std::uint32_t link = slowest->bottleneck; link != FairShare::no_link) {
    found.link = cluster::Cluster::link_name(paths_.links()[link]);
    found.link_class = paths_.cluster().link_class(paths_.links()[link]);
    found.link_bandwidth = paths_.cluster().bandwidth_of(paths_.links()[link]);
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

Contention find_contention(Paths& paths, const Pairs& pairs, const PermutationSearch& search) {
  const std::uint32_t n = paths.size();
  Contention found{.bisection = cluster::bisection(paths.cluster(), paths.hosts()),
                   .all_pairs = all_pairs(paths, pairs),
                   .slowest_bound = slowest_bound(paths, pairs)};
  PermutationRates rates(paths);
  found.half_shift = rates.figures(shifted(n, n / 2));

  Rates worst{.total = std::numeric_limits<double>::infinity()};
  Permutation receiver_of;
  for (NamedPermutation& one : hard_permutations(paths)) {
    const Rates now = rates.of(one.receiver_of);
    ++found.tried;
    if (!now.below(worst)) continue;
    worst = now;
    receiver_of = std::move(one.receiver_of);
    found.worst_from = std::move(one.name);
  }

  const std::uint64_t swaps =
      search.swaps > 0 ? search.swaps : std::clamp<std::uint64_t>(8'000'000 / n, 1'000, 20'000);
  std::mt19937_64 random(search.seed);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < swaps && n > 3; ++i) {
    if (worst.total <= found.slowest_bound * n * (1 + 1e-9)) break;
    if (search.progress) search.progress(static_cast<double>(i) / static_cast<double>(swaps));
    const std::uint32_t a = below(random, n);
    const std::uint32_t b = below(random, n);
    if (a == b || receiver_of[a] == b || receiver_of[b] == a) continue;
    std::swap(receiver_of[a], receiver_of[b]);
    const Rates now = rates.of(receiver_of);
    ++found.tried;
    if (now.below(worst)) {
      worst = now;
      ++kept;
    } else {
      std::swap(receiver_of[a], receiver_of[b]);
    }
  }
  if (kept > 0) found.worst_from += fmt::format(" and {} swaps", kept);
  found.worst = rates.figures(receiver_of);
  return found;
}

}  // namespace pipewright::comm
