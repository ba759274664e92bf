#include "sim/execution/collectives/many_routes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "sim/cluster/network.hpp"

namespace pipewright::execution {
namespace {

// Properties of a rank's own link on which the cost of a route depends.
using LinkNumbers = std::tuple<double, double, std::uint32_t, bool,
                               std::array<const cluster::ClassModel*, cluster::number_kinds>>;
LinkNumbers numbers_of(const cluster::Link& link) {
  return {link.bandwidth, link.latency, link.parts, link.is_shared, link.models};
}

}  // namespace

ManyRoutes::ManyRoutes(const RankPlacement& placement, std::size_t pairs) : placement_(placement) {
  constexpr std::size_t routes_per_rank = 16;  // from which on classes are worth finding
  const bool is_worth = pairs >= routes_per_rank * placement.size();
  if (is_worth && !placement.cluster().is_ideal()) find_classes();
}

void ManyRoutes::find_classes() {
  constexpr std::uint32_t most_classes = 2048;  // limits the memory for routes between classes
  // Each rank is compared by its routes to and from the first rank, or, in the node of the first
  // rank, to and from the first rank of another node.
  const auto is_elsewhere = [&](std::uint32_t rank) {
    return placement_.node(rank) != placement_.node(0);
  };
  std::uint32_t elsewhere = 0;
  while (elsewhere < placement_.size() && !is_elsewhere(elsewhere)) ++elsewhere;
  if (elsewhere == placement_.size()) return;
  using Signature = std::tuple<std::uint64_t, bool, LinkNumbers, LinkNumbers, double, double>;
  std::map<Signature, std::uint32_t> numbers;
  ranks_.resize(placement_.size());
  for (std::uint32_t rank = 0; rank < placement_.size(); ++rank) {
    const auto equivalence =
        placement_.cluster().network()->equivalence(placement_.host(rank), true);
    if (!equivalence.has_own_link) continue;
    const std::uint32_t partner = is_elsewhere(rank) ? 0 : elsewhere;
    const cluster::Route out = placement_.route(rank, partner);
    const cluster::Route into = placement_.route(partner, rank);
    ranks_[rank] = {.out = out.links.front(), .into = into.links.back()};
    ranks_[rank].number =
        numbers
            .try_emplace({equivalence.number, is_elsewhere(rank), numbers_of(*out.links.front()),
                          numbers_of(*into.links.back()), out.latency, into.latency},
                         static_cast<std::uint32_t>(numbers.size()))
            .first->second;
  }
  classes_ = static_cast<std::uint32_t>(numbers.size());
  if (classes_ > most_classes) ranks_.clear();
}

const cluster::Route& ManyRoutes::route(std::uint32_t source, std::uint32_t destination) {
  const bool has_classes = !ranks_.empty() && ranks_[source].number != no_class &&
                           ranks_[destination].number != no_class &&
                           placement_.node(source) != placement_.node(destination);
  if (!has_classes) return single_ = placement_.route(source, destination);
  const Rank& from = ranks_[source];
  const Rank& to = ranks_[destination];
  const auto [entry, is_new] =
      by_classes_.try_emplace(std::uint64_t{from.number} * classes_ + to.number);
  auto& [route, out, into] = entry->second;
  if (is_new) {
    route = placement_.route(source, destination);
  } else {
    route.source = placement_.host(source);
    route.destination = placement_.host(destination);
    for (auto* const links : {&route.links, &route.single_path}) {
      std::ranges::replace(*links, out, from.out);
      std::ranges::replace(*links, into, to.into);
    }
  }
  out = from.out;
  into = to.into;
  return route;
}

}  // namespace pipewright::execution
