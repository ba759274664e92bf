#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

constexpr std::size_t most_searched = 8;  // members: 7! rings

// Looks for the fastest ring over what the rings before it have left of the links.
class RingSearch {
 public:
  RingSearch(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement)
      : size_(ranks.size()) {
    std::unordered_map<const cluster::Link*, std::size_t> index_of;
    for (const std::uint32_t source : ranks)
      for (const std::uint32_t destination : ranks) {
        std::vector<std::size_t>& route = routes_.emplace_back();
        if (source == destination) continue;
        for (const cluster::Link* link : placement.route(source, destination).links) {
          const auto [place, is_new] = index_of.emplace(link, links_.size());
          if (is_new)
            links_.push_back(
                {.left = cluster::Cluster::bandwidth_of(link), .shared = cluster::is_shared(link)});
          route.push_back(place->second);
        }
      }
  }

  // Bytes/s; `order` begins with member 0. Of equally fast rings the first in the order of members.
  double find(std::vector<std::size_t>& order) {
    best_ = 0;
    path_ = {0};
    extend(std::numeric_limits<double>::infinity());
    order = best_path_;
    return best_;
  }
  void take(const std::vector<std::size_t>& order, double rate) {
    for (std::size_t i = 0; i < size_; ++i)
      for (const std::size_t link : routes_[order[i] * size_ + order[(i + 1) % size_]])
        if (links_[link].shared) links_[link].left -= rate;
  }

 private:
  struct Shared {
    double left = 0;  // bytes/s
    bool shared = true;
    int flows = 0;  // of the ring that is looked at
  };

  // The rate of the path's flows when one more joins them.
  double join(std::size_t from, std::size_t to, double rate) {
    for (const std::size_t link : routes_[from * size_ + to]) {
      Shared& one = links_[link];
      ++one.flows;
      rate = std::min(rate, one.shared ? one.left / one.flows : one.left);
    }
    return rate;
  }
  void leave(std::size_t from, std::size_t to) {
    for (const std::size_t link : routes_[from * size_ + to]) --links_[link].flows;
  }

  void extend(double rate) {
    const std::size_t last = path_.back();
    const bool closes = path_.size() == size_;
    for (std::size_t next = closes ? 0 : 1; next < (closes ? 1 : size_); ++next) {
      if (!closes && std::ranges::find(path_, next) != path_.end()) continue;
      const double joined = join(last, next, rate);
      if (joined > best_ * (1 + 1e-9)) {
        if (closes) {
          best_ = joined;
          best_path_ = path_;
        } else {
          path_.push_back(next);
          extend(joined);
          path_.pop_back();
        }
      }
      leave(last, next);
    }
  }

  std::size_t size_;
  std::vector<std::vector<std::size_t>> routes_;  // [source * size + destination]
  std::vector<Shared> links_;
  std::vector<std::size_t> path_;
  std::vector<std::size_t> best_path_;
  double best_ = 0;
};

// Whether the ways from the first member and around the ring are all as wide.
bool is_uniform(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  const double bandwidth = placement.route(ranks[0], ranks[1]).bandwidth;
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const std::uint32_t next = ranks[(i + 1) % ranks.size()];
    if (placement.route(ranks[0], ranks[i]).bandwidth != bandwidth ||
        placement.route(ranks[i], next).bandwidth != bandwidth)
      return false;
  }
  return true;
}

}  // namespace

std::vector<RingChannel> channels_in_node(const std::vector<std::uint32_t>& ranks,
                                          const RankPlacement& placement) {
  if (ranks.size() < 3 || ranks.size() > most_searched || is_uniform(ranks, placement))
    return {{ranks, 1}};
  RingSearch search(ranks, placement);
  std::vector<RingChannel> channels;
  std::vector<std::size_t> order;
  double total = 0;
  // Far slower rings would only be in the way of the others.
  for (double rate = search.find(order), first = rate; rate >= first / 2 && rate > 0;
       rate = search.find(order)) {
    RingChannel& channel = channels.emplace_back();
    for (const std::size_t member : order) channel.ranks.push_back(ranks[member]);
    channel.share = rate;
    total += rate;
    search.take(order, rate);
  }
  for (RingChannel& channel : channels) channel.share /= total;
  return channels;
}

}  // namespace pipewright::execution
