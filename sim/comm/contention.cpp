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

constexpr std::uint32_t max_shifts = 96;
constexpr std::uint32_t max_greedy_gpus = 512;  // GPUs; the greedy permutation examines all pairs

// Ensures that no GPU sends to itself: such a GPU swaps receivers with the previous GPU.
Permutation without_fixed_points(Permutation receiver_of) {
  const std::size_t n = receiver_of.size();
  for (std::size_t i = 0; i < n; ++i)
    if (receiver_of[i] == i) std::swap(receiver_of[i], receiver_of[(i + n - 1) % n]);
  return receiver_of;
}

// Permutation in which each GPU sends to the GPU with the next index in a node of the other half of
// the nodes. Returns nothing if nodes differ in size or there is only one.
std::optional<Permutation> next_rail_of_other_half(const Paths& paths) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> nodes;
  for (std::uint32_t i = 0; i < paths.size(); ++i)
    nodes[paths.cluster().node_of(paths.hosts()[i])].push_back(i);
  std::vector<std::vector<std::uint32_t>> gpus;
  for (auto& [node, members] : nodes) gpus.push_back(std::move(members));
  const std::size_t node_size = gpus.front().size();
  if (std::ranges::any_of(gpus, [&](auto& members) { return members.size() != node_size; }) ||
      gpus.size() < 2)
    return std::nullopt;
  Permutation receiver_of(paths.size());
  for (std::size_t node = 0; node < gpus.size(); ++node)
    for (std::size_t local_index = 0; local_index < node_size; ++local_index)
      receiver_of[gpus[node][local_index]] =
          gpus[(node + gpus.size() / 2) % gpus.size()][(local_index + 1) % node_size];
  return receiver_of;
}

// Builds a bad permutation greedily: each GPU in turn sends to the free receiver whose path has the
// most heavily loaded link so far.
Permutation greedy(const Paths& paths) {
  const std::uint32_t n = paths.size();
  std::vector<double> flows(paths.links().size());
  std::vector<bool> is_taken(n);
  Permutation receiver_of(n);
  FlowPath path;
  FlowPath best_path;
  for (std::uint32_t sender = 0; sender < n; ++sender) {
    double best_load = -1;
    std::uint32_t best = sender;
    for (std::uint32_t offset = 0; offset < n; ++offset) {
      const std::uint32_t receiver = (sender + n / 2 + offset) % n;
      if (is_taken[receiver] || receiver == sender) continue;
      paths.resolve(paths.route(sender, receiver), path);
      double fullest = 1 / path.cap;
      for (const std::uint32_t link : path.links)
        fullest = std::max(fullest, (flows[link] + 1) / paths.bandwidth()[link]);
      if (fullest <= best_load) continue;
      best_load = fullest;
      best = receiver;
      std::swap(path, best_path);
    }
    receiver_of[sender] = best;
    is_taken[best] = true;
    if (best != sender)
      for (const std::uint32_t link : best_path.links) ++flows[link];
  }
  return without_fixed_points(std::move(receiver_of));
}

using analysis::Contention;

double narrowest(const Pairs& pairs) {
  double bandwidth = std::numeric_limits<double>::infinity();
  for (const analysis::PairClass& pair_class : pairs.matrix.classes)
    bandwidth = std::min(bandwidth, pair_class.bandwidth);
  return bandwidth;
}

double all_pairs_bandwidth(const Paths& paths, const Pairs& pairs) {
  if (pairs.use.empty()) return 0;
  double rate = narrowest(pairs);  // rate of one pair
  for (std::size_t link = 0; link < pairs.use.size(); ++link)
    if (const std::uint64_t flows = pairs.use[link].across; flows > 0)
      rate = std::min(rate, paths.bandwidth()[link] / static_cast<double>(flows));
  const std::size_t half = paths.size() / 2;
  return rate * static_cast<double>(half * half);
}

// Lower bound for the rate of the slowest flow in any permutation. A link carries at most as many
// flows as it has senders or receivers, and a flow gets at least an equal share of its fullest
// link.
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

// Returns a random number from 0 to `end` - 1. The distributions of the standard library would give
// other numbers on other platforms.
std::uint32_t random_below(std::mt19937_64& random, std::uint32_t end) {
  return static_cast<std::uint32_t>(((random() >> 32U) * end) >> 32U);
}

}  // namespace

bool PermutationRates::Rates::is_below(const PermutationRates::Rates& rhs) const {
  constexpr double factor = 1 - 1e-9;
  if (total < rhs.total * factor) return true;
  return total * factor <= rhs.total && slowest < rhs.slowest * factor;
}

std::span<const FairShare> PermutationRates::share(const Permutation& receiver_of) {
  flows_.clear();
  for (std::uint32_t sender = 0; sender < receiver_of.size(); ++sender)
    flows_.push_back(&paths_.path(sender, receiver_of[sender]));
  return sharing_.share(flows_);
}

PermutationRates::Rates PermutationRates::rates_of(const Permutation& receiver_of) {
  PermutationRates::Rates rates{.slowest = std::numeric_limits<double>::infinity()};
  for (const FairShare& flow : share(receiver_of)) {
    rates.total += flow.rate;
    rates.slowest = std::min(rates.slowest, flow.rate);
  }
  return rates;
}

analysis::PermutationFigures PermutationRates::figures(const Permutation& receiver_of) {
  const std::span<const FairShare> shares = share(receiver_of);
  analysis::PermutationFigures figures{.receiver_of = receiver_of};
  for (const FairShare& share : shares) figures.total += share.rate;
  for (const FlowPath* flow : flows_) figures.alone += paths_.uncontended_rate(*flow);
  const auto slowest = std::ranges::min_element(shares, {}, &FairShare::rate);
  figures.slowest = slowest->rate;
  figures.slowest_sender = static_cast<std::uint32_t>(slowest - shares.begin());
  figures.slowest_receiver = receiver_of[figures.slowest_sender];
  if (const std::uint32_t link = slowest->bottleneck; link != FairShare::no_link) {
    figures.link = cluster::Cluster::link_name(paths_.links()[link]);
    figures.link_class = paths_.cluster().link_class(paths_.links()[link]);
    figures.link_bandwidth = paths_.cluster().bandwidth_of(paths_.links()[link]);
    figures.link_flows = static_cast<std::uint32_t>(std::ranges::count_if(
        flows_, [&](auto* flow) { return std::ranges::count(flow->links, link) > 0; }));
  }
  return figures;
}

Permutation shift_permutation(std::uint32_t gpus, std::uint32_t distance) {
  Permutation receiver_of(gpus);
  for (std::uint32_t i = 0; i < gpus; ++i) receiver_of[i] = (i + distance) % gpus;
  return receiver_of;
}

std::vector<NamedPermutation> hard_permutations(Paths& paths) {
  const std::uint32_t n = paths.size();
  std::vector<NamedPermutation> permutations;
  const auto add_shift = [&](std::uint32_t distance) {
    permutations.push_back({fmt::format("shift by {}", distance), shift_permutation(n, distance)});
  };
  add_shift(n / 2);
  const std::uint32_t count = std::min(n - 1, max_shifts);
  for (std::uint32_t i = 0; i < count; ++i)
    if (const std::uint32_t distance = 1 + i * (n - 1) / count; distance != n / 2)
      add_shift(distance);
  Permutation reversed(n);
  std::iota(reversed.rbegin(), reversed.rend(), 0U);
  permutations.push_back({"reversed order", without_fixed_points(std::move(reversed))});
  if (auto next_rail = next_rail_of_other_half(paths))
    permutations.push_back({"next rail of the other half of the nodes", std::move(*next_rail)});
  if (n <= max_greedy_gpus)
    permutations.push_back({"one by one over the fullest link", greedy(paths)});
  return permutations;
}

Contention find_contention(Paths& paths, const Pairs& pairs, const PermutationSearch& search) {
  const std::uint32_t n = paths.size();
  Contention contention{.bisection = cluster::bisection(paths.cluster(), paths.hosts()),
                        .all_pairs = all_pairs_bandwidth(paths, pairs),
                        .slowest_bound = slowest_bound(paths, pairs)};
  PermutationRates rates(paths);
  contention.half_shift = rates.figures(shift_permutation(n, n / 2));

  PermutationRates::Rates worst{.total = std::numeric_limits<double>::infinity()};
  Permutation receiver_of;
  for (NamedPermutation& candidate : hard_permutations(paths)) {
    const PermutationRates::Rates candidate_rates = rates.rates_of(candidate.receiver_of);
    ++contention.tried;
    if (!candidate_rates.is_below(worst)) continue;
    worst = candidate_rates;
    receiver_of = std::move(candidate.receiver_of);
    contention.worst_from = std::move(candidate.name);
  }

  const std::uint64_t swaps =
      search.swaps > 0 ? search.swaps : std::clamp<std::uint64_t>(8'000'000 / n, 1'000, 20'000);
  std::mt19937_64 random(search.seed);
  std::uint64_t accepted_swaps = 0;
  for (std::uint64_t i = 0; i < swaps && n > 3; ++i) {
    if (worst.total <= contention.slowest_bound * n * (1 + 1e-9)) break;
    if (search.progress) search.progress(static_cast<double>(i) / static_cast<double>(swaps));
    const std::uint32_t a = random_below(random, n);
    const std::uint32_t b = random_below(random, n);
    if (a == b || receiver_of[a] == b || receiver_of[b] == a) continue;
    std::swap(receiver_of[a], receiver_of[b]);
    const PermutationRates::Rates candidate_rates = rates.rates_of(receiver_of);
    ++contention.tried;
    if (candidate_rates.is_below(worst)) {
      worst = candidate_rates;
      ++accepted_swaps;
    } else {
      std::swap(receiver_of[a], receiver_of[b]);
    }
  }
  if (accepted_swaps > 0) contention.worst_from += fmt::format(" and {} swaps", accepted_swaps);
  contention.worst = rates.figures(receiver_of);
  return contention;
}

}  // namespace pipewright::comm
