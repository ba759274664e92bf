#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/execution/collectives/algorithms.hpp"

namespace pipewright::execution {
namespace {

constexpr std::size_t most_searched = 8;  // members: 7! rings

// Looks for the fastest ring over what the rings before it have left of the links. Of equally fast
// ones it takes the first in the order of `preferred`, the members by their numbers.
class RingSearch {
 public:
  RingSearch(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement)
      : size_(ranks.size()), preferred_(ranks.size()) {
    std::iota(preferred_.begin(), preferred_.end(), 0);
    std::unordered_map<const cluster::Link*, std::size_t> index_of;
    for (const std::uint32_t source : ranks)
      for (const std::uint32_t destination : ranks) {
        std::vector<std::size_t>& route = routes_.emplace_back();
        if (source == destination) continue;
        for (const cluster::Link* link : placement.route(source, destination).links) {
          const auto [place, is_new] = index_of.emplace(link, links_.size());
          if (is_new)
            links_.push_back({.whole = cluster::Cluster::capacity_of(link),
                              .left = cluster::Cluster::capacity_of(link),
                              .shared = cluster::is_shared(link)});
          route.push_back(place->second);
        }
      }
  }

  void prefer(std::vector<std::size_t> preferred) { preferred_ = std::move(preferred); }

  // Bytes/s; `order` begins with member 0.
  double find(std::vector<std::size_t>& order) {
    best_ = 0;
    most_ = 0;
    for (const Shared& link : links_) most_ = std::max(most_, link.left);
    path_ = {0};
    extend(std::numeric_limits<double>::infinity());
    order = best_path_;
    return best_;
  }
  // Gives back what was taken.
  void reset() {
    for (Shared& link : links_) link.left = link.whole;
  }
  // Bytes/s that the member with least can send.
  double least_sent() const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t source = 0; source < size_; ++source) {
      std::set<std::size_t> first;
      for (std::size_t to = 0; to < size_; ++to)
        if (to != source) first.insert(routes_[source * size_ + to].front());
      double sum = 0;
      for (const std::size_t link : first) sum += links_[link].whole;
      least = std::min(least, sum);
    }
    return least;
  }
  void take(const std::vector<std::size_t>& order, double rate) {
    for (std::size_t i = 0; i < size_; ++i)
      for (const std::size_t link : routes_[order[i] * size_ + order[(i + 1) % size_]])
        if (links_[link].shared) links_[link].left -= rate;
  }

 private:
  struct Shared {
    double whole = 0;  // bytes/s
    double left = 0;   // of them
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
    for (std::size_t i = closes ? 0 : 1; i < (closes ? 1 : size_) && best_ < most_; ++i) {
      const std::size_t next = closes ? 0 : preferred_[i];
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
  std::vector<std::size_t> preferred_;  // begins with 0
  std::vector<std::size_t> path_;
  std::vector<std::size_t> best_path_;
  double best_ = 0;
  double most_ = 0;  // that any ring could have
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

// Whether the first member sends all it has over one link, as behind a switch, or over none. Of
// uniform ones the others do likewise.
bool is_star(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  const auto way_to = [&](std::size_t i) { return placement.route(ranks[0], ranks[i]).links; };
  const std::vector<const cluster::Link*> first = way_to(1);
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    const std::vector<const cluster::Link*> way = way_to(i);
    if (way.empty() != first.empty() || (!way.empty() && way.front() != first.front()))
      return false;
  }
  return true;
}

// Whether there is a link for any two, all alike.
bool is_mesh(const std::vector<std::uint32_t>& ranks, const RankPlacement& placement) {
  if (ranks.size() < 3) return false;
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (placement.route(ranks[0], ranks[i]).links.size() != 1) return false;
  return is_uniform(ranks, placement) && !is_star(ranks, placement);
}

struct FoundRings {
  std::vector<std::pair<std::vector<std::size_t>, double>> rings;  // members, bytes/s
  double rate = 0;                                                 // of all
};

// One ring after the other, as long as they are worth it. `before_each` may change what is
// preferred.
template <class BeforeEach>
FoundRings find_rings(RingSearch& search, const BeforeEach& before_each) {
  FoundRings found;
  std::vector<std::size_t> order;
  while (true) {
    before_each();
    const double rate = search.find(order);
    // Far slower rings would only be in the way of the others.
    if (rate <= 0 || (!found.rings.empty() && rate < found.rings.front().second / 2)) return found;
    found.rings.emplace_back(order, rate);
    found.rate += rate;
    search.take(order, rate);
  }
}

FoundRings find_rings(const std::vector<std::uint32_t>& ranks, bool uniform,
                      const RankPlacement& placement) {
  RingSearch search(ranks, placement);
  FoundRings best = find_rings(search, [] {});
  if (!uniform) return best;
  // Where all links are alike, a ring that is as good as another by itself may be in the way of
  // those after it.
  constexpr int most_tries = 50;
  std::minstd_rand random;
  std::vector<std::size_t> preferred(ranks.size());
  std::iota(preferred.begin(), preferred.end(), 0);
  const auto shuffle = [&] {
    for (std::size_t i = preferred.size() - 1; i > 1; --i)
      std::swap(preferred[i], preferred[1 + random() % i]);
    search.prefer(preferred);
  };
  const double most = search.least_sent() * (1 - 1e-9);
  for (int tries = 0; best.rate < most && tries < most_tries; ++tries) {
    search.reset();
    FoundRings other = find_rings(search, shuffle);
    if (other.rate > best.rate) best = std::move(other);
  }
  return best;
}

}  // namespace

std::vector<RingChannel> channels_in_node(const std::vector<std::uint32_t>& ranks,
                                          const RankPlacement& placement) {
  if (ranks.size() < 3 || ranks.size() > most_searched) return {{ranks, 1}};
  const bool uniform = is_uniform(ranks, placement);
  if (uniform && is_star(ranks, placement)) return {{ranks, 1}};
  const FoundRings found = find_rings(ranks, uniform, placement);
  std::vector<RingChannel> channels;
  for (const auto& [order, rate] : found.rings) {
    RingChannel& channel = channels.emplace_back();
    for (const std::size_t member : order) channel.ranks.push_back(ranks[member]);
    channel.share = rate / found.rate;
  }
  return channels;
}

std::vector<std::vector<std::uint32_t>> ways_through(const std::vector<std::uint32_t>& node,
                                                     const RankPlacement& placement) {
  const std::size_t n = node.size();
  const bool to_and_fro = is_mesh(node, placement);
  std::vector<std::vector<std::uint32_t>> ways;
  for (std::size_t first = 0; first < n; ++first) {
    std::vector<std::uint32_t>& way = ways.emplace_back();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t by = !to_and_fro ? i : i % 2 == 1 ? (i + 1) / 2 : n - i / 2;
      way.push_back(node[(first + by) % n]);
    }
  }
  return ways;
}

}  // namespace pipewright::execution
