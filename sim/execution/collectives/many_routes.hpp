#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/execution/collectives/rank_placement.hpp"

namespace pipewright::execution {

// Routes between many pairs of ranks, such as the 16 million of an all-to-all over 4,096 ranks.
// Ranks are of one class if their GPUs reach all other nodes over the same links, except for a link
// of their own that has the same numbers (cluster::Network::Equivalence). Each pair of classes has
// one route, in which only the ranks' own links are replaced. The cluster must not change while
// this object exists.
class ManyRoutes {
 public:
  // `pairs` is the number of routes that are needed. Few routes are looked up one by one.
  ManyRoutes(const RankPlacement& placement, std::size_t pairs);

  // Route between two ranks, as RankPlacement::route() returns it. Valid until the next call.
  const cluster::Route& route(std::uint32_t source, std::uint32_t destination);

 private:
  static constexpr std::uint32_t no_class = static_cast<std::uint32_t>(-1);
  struct Rank {
    std::uint32_t uses = 0;               // routes that were needed, until the class is found
    std::uint32_t number = no_class;      // number of the class
    const cluster::Link* out = nullptr;   // own link to other nodes
    const cluster::Link* into = nullptr;  // own link from other nodes
  };
  // Route between two classes, with the own links of the ranks that used it last.
  struct ClassRoute {
    cluster::Route route;
    const cluster::Link* out = nullptr;
    const cluster::Link* into = nullptr;
  };
  // Properties of a rank's own link on which the cost of a route depends.
  using LinkNumbers = std::tuple<double, double, std::uint32_t, bool,
                                 std::array<const cluster::ClassModel*, cluster::number_kinds>>;
  using Signature = std::tuple<std::uint64_t, bool, LinkNumbers, LinkNumbers, double, double>;
  static LinkNumbers numbers_of(const cluster::Link& link);
  std::uint32_t index_of(std::uint32_t rank);
  void find_class(std::uint32_t rank, Rank& member);

  const RankPlacement& placement_;
  std::uint32_t elsewhere_ = 0;       // first rank outside the node of rank 0
  std::vector<std::uint32_t> index_;  // in ranks_, by rank, from 1; empty: no classes
  std::vector<Rank> ranks_;           // ranks that were used
  std::map<Signature, std::uint32_t> classes_;
  std::unordered_map<std::uint64_t, ClassRoute> by_classes_;
  cluster::Route single_;  // result of the last lookup
};

}  // namespace pipewright::execution
