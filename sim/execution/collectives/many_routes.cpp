#include "sim/execution/collectives/many_routes.hpp"

#include <algorithm>

#include "sim/cluster/network.hpp"

namespace pipewright::execution {

ManyRoutes::LinkNumbers ManyRoutes::numbers_of(const cluster::Link& link) {
  return {link.bandwidth, link.latency, link.parts, link.is_shared, link.models};
}

ManyRoutes::ManyRoutes(const RankPlacement& placement, std::size_t pairs) : placement_(placement) {
  constexpr std::size_t few_pairs = 256;  // for which a table of all ranks is not worth while
  if (pairs < few_pairs || placement.cluster().is_ideal()) return;
  while (elsewhere_ < placement_.size() && placement_.node(elsewhere_) == placement_.node(0))
    ++elsewhere_;
  if (elsewhere_ < placement_.size()) index_.resize(placement_.size());
}

// A rank is compared by its routes to and from the first rank or, in the node of the first rank, to
// and from the first rank of another node.
void ManyRoutes::find_class(std::uint32_t rank, Rank& member) {
  constexpr std::size_t most_classes = 2048;  // limits the memory for routes between classes
  const auto equivalence = placement_.cluster().network()->equivalence(placement_.host(rank), true);
  if (!equivalence.has_own_link || classes_.size() == most_classes) return;
  const bool is_elsewhere = placement_.node(rank) != placement_.node(0);
  const std::uint32_t partner = is_elsewhere ? 0 : elsewhere_;
  const cluster::Route out = placement_.route(rank, partner);
  const cluster::Route into = placement_.route(partner, rank);
  member.out = out.links.front();
  member.into = into.links.back();
  member.number = classes_
                      .try_emplace({equivalence.number, is_elsewhere, numbers_of(*member.out),
                                    numbers_of(*member.into), out.latency, into.latency},
                                   static_cast<std::uint32_t>(classes_.size()))
                      .first->second;
}

// Finding a class takes two routes, so that it pays for a rank with more of them.
std::uint32_t ManyRoutes::index_of(std::uint32_t rank) {
  constexpr std::uint32_t uses_before_class = 4;
  std::uint32_t& index = index_[rank];
  if (index == 0) {
    ranks_.emplace_back();
    index = static_cast<std::uint32_t>(ranks_.size());
  }
  if (Rank& used = ranks_[index - 1]; used.uses < uses_before_class)
    if (++used.uses == uses_before_class) find_class(rank, used);
  return index - 1;
}

const cluster::Route& ManyRoutes::route(std::uint32_t source, std::uint32_t destination) {
  if (index_.empty() || placement_.node(source) == placement_.node(destination))
    return single_ = placement_.route(source, destination);
  const std::uint32_t source_index = index_of(source);
  const Rank& to = ranks_[index_of(destination)];
  const Rank& from = ranks_[source_index];
  if (from.number == no_class || to.number == no_class)
    return single_ = placement_.route(source, destination);
  const auto [entry, is_new] =
      by_classes_.try_emplace(std::uint64_t{from.number} << 32U | to.number);
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
