#include "sim/execution/flows/limiting_links.hpp"

#include <algorithm>

namespace pipewright::execution {

void LimitingLinks::count(std::span<const Crossing> crossings, Supply Load::*side, Shares& shares) {
  const auto capacity = [](const Crossing& crossing) {
    return cluster::Cluster::capacity_of(crossing.link);
  };
  for (std::size_t at = 0; at < crossings.size(); ++at) {
    const Crossing& crossing = crossings[at];
    Load& load = loads_[crossing.link->number];
    Supply& supply = load.*side;
    if (supply.is_over(load.capacity)) continue;
    // Only strictly smaller links count, so that two links never leave the limit to each other.
    const Crossing* slowest = nullptr;
    for (const Crossing& smaller : crossings.first(at))
      if (capacity(smaller) < load.capacity &&
          (slowest == nullptr ||
           capacity(smaller) * slowest->times < capacity(*slowest) * smaller.times))
        slowest = &smaller;
    supply.is_bounded = slowest != nullptr;
    if (slowest == nullptr) continue;
    const double share = static_cast<double>(crossing.times) / slowest->times;
    double& largest_share =
        shares[std::uint64_t{crossing.link->number} << 32U | slowest->link->number];
    if (share <= largest_share) continue;
    supply.rate += (share - largest_share) * capacity(*slowest);
    largest_share = share;
  }
}

void LimitingLinks::add(std::span<const cluster::Link* const> route) {
  crossings_.clear();
  for (const cluster::Link* link : route) {
    if (!cluster::is_shared(link)) continue;
    const auto it = std::ranges::find(crossings_, link, &Crossing::link);
    if (it != crossings_.end()) {
      ++it->times;
      continue;
    }
    crossings_.push_back({link, 1});
    if (link->number >= loads_.size()) loads_.resize(link->number + std::size_t{1});
    loads_[link->number].capacity = cluster::Cluster::capacity_of(link);
  }
  count(crossings_, &Load::before, before_);
  std::ranges::reverse(crossings_);
  count(crossings_, &Load::behind, behind_);
}

}  // namespace pipewright::execution
