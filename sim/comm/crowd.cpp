#include "sim/comm/crowd.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "sim/cluster/describe.hpp"

namespace pipewright::comm {
namespace {

using analysis::Crowd;
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

Crowd crowd(Paths& paths, const Pairs& pairs, const PermutationSearch& search) {
  const std::uint32_t n = paths.size();
  Crowd found{.bisection = cluster::bisection(paths.cluster(), paths.hosts()),
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
