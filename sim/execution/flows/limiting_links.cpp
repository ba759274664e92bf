#include "sim/execution/flows/limiting_links.hpp"

#include <algorithm>

namespace pipewright::execution {

void LimitingLinks::count(std::span<const Crossing> crossings, Supply Load::*side, Shares& shares) {
  const Crossing* smallest = nullptr;
  const auto rate = [](const Crossing& crossing) {
    return cluster::Cluster::capacity_of(crossing.link) / crossing.times;
  };
  for (const Crossing& crossing : crossings) {
    Load& load = loads_[crossing.link->number];
    Supply& supply = load.*side;
    if (!supply.is_over(load.capacity)) {
      // Only strictly smaller links count, so that two links never leave the limit to each other.
      if (smallest == nullptr || cluster::Cluster::capacity_of(smallest->link) >= load.capacity) {
        supply.is_bounded = false;
      } else {
        const double share = static_cast<double>(crossing.times) / smallest->times;
        double& largest_share =
            shares[std::uint64_t{crossing.link->number} << 32U | smallest->link->number];
        if (share > largest_share) {
          supply.rate += (share - largest_share) * cluster::Cluster::capacity_of(smallest->link);
          largest_share = share;
        }
      }
    }
    if (smallest == nullptr || rate(crossing) < rate(*smallest)) smallest = &crossing;
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
