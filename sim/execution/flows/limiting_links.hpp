#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/cluster/cluster.hpp"

namespace pipewright::execution {

// Tells the shared links of a set of flows that may limit a rate from those that never do. A link
// never limits a rate if the smaller links that its flows cross before it let no more through than
// its bandwidth, whichever flows are in progress; the same holds for smaller links behind it. An
// example is the uplink of a leaf switch without oversubscription: the NICs below it are full
// first. Max-min fair sharing depends on the set of possible rates alone, so that rates stay the
// same without such links.
class LimitingLinks {
 public:
  // Adds the route of a flow, in path order. A link that is listed several times counts that often.
  void add(std::span<const cluster::Link* const> route);
  // Call it after the last add(). True for shared links of the flows that may limit a rate.
  bool may_limit(const cluster::Link* link) const {
    const Load& load = loads_[link->number];
    return load.before.is_over(load.capacity) && load.behind.is_over(load.capacity);
  }

 private:
  // Rate that the smaller links before or behind a link let through, in bytes/s on the link.
  struct Supply {
    double rate = 0;
    bool is_bounded = true;  // false: a flow crosses no smaller link there

    bool is_over(double capacity) const {
      constexpr double rounding = 1 + 1e-9;
      return !is_bounded || rate > capacity * rounding;
    }
  };
  struct Load {
    double capacity = 0;
    Supply before;
    Supply behind;
  };
  struct Crossing {
    const cluster::Link* link;
    std::uint32_t times;
  };
  // Crossings per crossing of the smaller link, by link and smaller link.
  using Shares = std::unordered_map<std::uint64_t, double>;

  // Counts, for each link, the slowest smaller one among those before it in `crossings`.
  void count(std::span<const Crossing> crossings, Supply Load::*side, Shares& shares);

  std::vector<Load> loads_;  // by number of the link
  Shares before_;
  Shares behind_;
  std::vector<Crossing> crossings_;
};

}  // namespace pipewright::execution
