#include "sim/comm/fair_share.hpp"

#include <algorithm>
#include <utility>

namespace pipewright::comm {

using cluster::Cluster;

Paths::Paths(const Cluster& cluster, std::vector<cluster::Host*> hosts)
    : cluster_(cluster), hosts_(std::move(hosts)) {
  for (const cluster::Link* link : cluster_.links()) {
    if (!cluster::is_shared(link)) continue;
    number_of_.emplace(link, static_cast<std::uint32_t>(links_.size()));
    links_.push_back(link);
    bandwidth_.push_back(Cluster::capacity_of(link));
  }
}

void Paths::resolve(const cluster::Route& route, FlowPath& path) const {
  path.links.clear();
  path.cap = std::numeric_limits<double>::infinity();
  for (const cluster::Link* link : route.links) {
    const auto number = number_of_.find(link);
    if (number == number_of_.end())
      path.cap = std::min(path.cap, Cluster::capacity_of(link));
    else
      path.links.push_back(number->second);
  }
}

const FlowPath& Paths::path(std::uint32_t sender, std::uint32_t receiver) {
  const auto [entry, is_new] = paths_.try_emplace(std::uint64_t{sender} << 32U | receiver);
  if (is_new) resolve(route(sender, receiver), entry->second);
  return entry->second;
}

double Paths::uncontended_rate(const FlowPath& path) const {
  double rate = path.cap;
  for (const std::uint32_t link : path.links)
    rate = std::min(rate,
                    bandwidth_[link] / static_cast<double>(std::ranges::count(path.links, link)));
  return rate;
}

}  // namespace pipewright::comm
